# Written by foretrain. To draw it again: gnuplot on this file, in its folder.
set encoding utf8
set terminal pngcairo noenhanced size 2560,880 font 'Sans,24' linewidth 2 background rgb 'white'
set output 'llama2-7b-scaling.png'
set multiplot layout 1,4
unset key
set xlabel 'GPUs'
set logscale x 2
set grid lc rgb '#dddddd'
set tics nomirror out
set border 3
set xrange [*:*] noextend
set yrange [0:*]
set ylabel 'step, ms'
plot 'llama2-7b-scaling.dat' index 0 using 1:2 with linespoints pt 7 ps 1.4 lw 1.5 lc rgb '#1f66ad', \
  'llama2-7b-scaling.dat' index 1 using 1:2 with linespoints pt 5 ps 1.4 lw 1.5 lc rgb '#e6813c', \
  'llama2-7b-scaling.dat' index 2 using 1:2 with linespoints pt 9 ps 1.4 lw 1.5 lc rgb '#33792c', \
  'llama2-7b-scaling.dat' index 3 using 1:2 with linespoints pt 11 ps 1.4 lw 1.5 lc rgb '#9c2a1c', \
  'llama2-7b-scaling.dat' index 4 using 1:2 with linespoints pt 13 ps 1.4 lw 1.5 lc rgb '#7b5ea7', \
  'llama2-7b-scaling.dat' index 5 using 1:2 with linespoints pt 6 ps 1.4 lw 1.5 lc rgb '#08203f', \
  'llama2-7b-scaling.dat' index 6 using 1:2 with linespoints pt 4 ps 1.4 lw 1.5 lc rgb '#c9a400', \
  'llama2-7b-scaling.dat' index 7 using 1:2 with linespoints pt 8 ps 1.4 lw 1.5 lc rgb '#6fa8dc', \
  'llama2-7b-scaling.dat' index 8 using 1:2 with linespoints pt 2 ps 1.4 lw 1.5 lc rgb '#333333'
set logscale y
set yrange [*:*]
set ylabel 'tokens per second (dashed: as the first)'
plot 'llama2-7b-scaling.dat' index 0 using 1:4 with lines dt 2 lc rgb '#1f66ad', \
  'llama2-7b-scaling.dat' index 0 using 1:3 with linespoints pt 7 ps 1.4 lw 1.5 lc rgb '#1f66ad', \
  'llama2-7b-scaling.dat' index 1 using 1:4 with lines dt 2 lc rgb '#e6813c', \
  'llama2-7b-scaling.dat' index 1 using 1:3 with linespoints pt 5 ps 1.4 lw 1.5 lc rgb '#e6813c', \
  'llama2-7b-scaling.dat' index 2 using 1:4 with lines dt 2 lc rgb '#33792c', \
  'llama2-7b-scaling.dat' index 2 using 1:3 with linespoints pt 9 ps 1.4 lw 1.5 lc rgb '#33792c', \
  'llama2-7b-scaling.dat' index 3 using 1:4 with lines dt 2 lc rgb '#9c2a1c', \
  'llama2-7b-scaling.dat' index 3 using 1:3 with linespoints pt 11 ps 1.4 lw 1.5 lc rgb '#9c2a1c', \
  'llama2-7b-scaling.dat' index 4 using 1:4 with lines dt 2 lc rgb '#7b5ea7', \
  'llama2-7b-scaling.dat' index 4 using 1:3 with linespoints pt 13 ps 1.4 lw 1.5 lc rgb '#7b5ea7', \
  'llama2-7b-scaling.dat' index 5 using 1:4 with lines dt 2 lc rgb '#08203f', \
  'llama2-7b-scaling.dat' index 5 using 1:3 with linespoints pt 6 ps 1.4 lw 1.5 lc rgb '#08203f', \
  'llama2-7b-scaling.dat' index 6 using 1:4 with lines dt 2 lc rgb '#c9a400', \
  'llama2-7b-scaling.dat' index 6 using 1:3 with linespoints pt 4 ps 1.4 lw 1.5 lc rgb '#c9a400', \
  'llama2-7b-scaling.dat' index 7 using 1:4 with lines dt 2 lc rgb '#6fa8dc', \
  'llama2-7b-scaling.dat' index 7 using 1:3 with linespoints pt 8 ps 1.4 lw 1.5 lc rgb '#6fa8dc', \
  'llama2-7b-scaling.dat' index 8 using 1:4 with lines dt 2 lc rgb '#333333', \
  'llama2-7b-scaling.dat' index 8 using 1:3 with linespoints pt 2 ps 1.4 lw 1.5 lc rgb '#333333'
unset logscale y
set yrange [0:*]
set ylabel 'tokens per second per GPU, % of the first'
plot 'llama2-7b-scaling.dat' index 0 using 1:5 with linespoints pt 7 ps 1.4 lw 1.5 lc rgb '#1f66ad', \
  'llama2-7b-scaling.dat' index 1 using 1:5 with linespoints pt 5 ps 1.4 lw 1.5 lc rgb '#e6813c', \
  'llama2-7b-scaling.dat' index 2 using 1:5 with linespoints pt 9 ps 1.4 lw 1.5 lc rgb '#33792c', \
  'llama2-7b-scaling.dat' index 3 using 1:5 with linespoints pt 11 ps 1.4 lw 1.5 lc rgb '#9c2a1c', \
  'llama2-7b-scaling.dat' index 4 using 1:5 with linespoints pt 13 ps 1.4 lw 1.5 lc rgb '#7b5ea7', \
  'llama2-7b-scaling.dat' index 5 using 1:5 with linespoints pt 6 ps 1.4 lw 1.5 lc rgb '#08203f', \
  'llama2-7b-scaling.dat' index 6 using 1:5 with linespoints pt 4 ps 1.4 lw 1.5 lc rgb '#c9a400', \
  'llama2-7b-scaling.dat' index 7 using 1:5 with linespoints pt 8 ps 1.4 lw 1.5 lc rgb '#6fa8dc', \
  'llama2-7b-scaling.dat' index 8 using 1:5 with linespoints pt 2 ps 1.4 lw 1.5 lc rgb '#333333'
unset border
unset tics
unset grid
unset xlabel
unset ylabel
unset logscale
set xrange [0:1]
set yrange [0:1]
set key at graph -0.1,0.95 left top vertical Left reverse samplen 2
plot NaN with linespoints pt 7 ps 1.4 lw 1.5 lc rgb '#1f66ad' title 'dgx-h100, ZeRO-1', \
  NaN with linespoints pt 5 ps 1.4 lw 1.5 lc rgb '#e6813c' title 'dgx-h100, ZeRO-2', \
  NaN with linespoints pt 9 ps 1.4 lw 1.5 lc rgb '#33792c' title 'dgx-h100, ZeRO-3', \
  NaN with linespoints pt 11 ps 1.4 lw 1.5 lc rgb '#9c2a1c' title 'h100-eth100, ZeRO-1', \
  NaN with linespoints pt 13 ps 1.4 lw 1.5 lc rgb '#7b5ea7' title 'h100-eth100, ZeRO-2', \
  NaN with linespoints pt 6 ps 1.4 lw 1.5 lc rgb '#08203f' title 'h100-eth100, ZeRO-3', \
  NaN with linespoints pt 4 ps 1.4 lw 1.5 lc rgb '#c9a400' title 'aws-p4d, ZeRO-3', \
  NaN with linespoints pt 8 ps 1.4 lw 1.5 lc rgb '#6fa8dc' title 'aws-p4d, ZeRO-1', \
  NaN with linespoints pt 2 ps 1.4 lw 1.5 lc rgb '#333333' title 'aws-p4d, ZeRO-2'
unset multiplot
