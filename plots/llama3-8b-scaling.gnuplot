# Written by foretrain. To draw it again: gnuplot on this file, in its folder.
set encoding utf8
set terminal pngcairo noenhanced size 2560,880 font 'Sans,24' linewidth 2 background rgb 'white'
set output 'llama3-8b-scaling.png'
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
plot 'llama3-8b-scaling.dat' index 0 using 1:2 with linespoints pt 7 ps 1.4 lw 1.5 lc rgb '#1f66ad', \
  'llama3-8b-scaling.dat' index 1 using 1:2 with linespoints pt 5 ps 1.4 lw 1.5 lc rgb '#e6813c'
set logscale y
set yrange [*:*]
set ylabel 'tokens per second (dashed: as the first)'
plot 'llama3-8b-scaling.dat' index 0 using 1:4 with lines dt 2 lc rgb '#1f66ad', \
  'llama3-8b-scaling.dat' index 0 using 1:3 with linespoints pt 7 ps 1.4 lw 1.5 lc rgb '#1f66ad', \
  'llama3-8b-scaling.dat' index 1 using 1:4 with lines dt 2 lc rgb '#e6813c', \
  'llama3-8b-scaling.dat' index 1 using 1:3 with linespoints pt 5 ps 1.4 lw 1.5 lc rgb '#e6813c'
unset logscale y
set yrange [0:*]
set ylabel 'tokens per second per GPU, % of the first'
plot 'llama3-8b-scaling.dat' index 0 using 1:5 with linespoints pt 7 ps 1.4 lw 1.5 lc rgb '#1f66ad', \
  'llama3-8b-scaling.dat' index 1 using 1:5 with linespoints pt 5 ps 1.4 lw 1.5 lc rgb '#e6813c'
unset border
unset tics
unset grid
unset xlabel
unset ylabel
unset logscale
set xrange [0:1]
set yrange [0:1]
set key at graph -0.1,0.95 left top vertical Left reverse samplen 2
plot NaN with linespoints pt 7 ps 1.4 lw 1.5 lc rgb '#1f66ad' title 'ZeRO-2', \
  NaN with linespoints pt 5 ps 1.4 lw 1.5 lc rgb '#e6813c' title 'ZeRO-3'
unset multiplot
