# Written by foretrain. To draw it again: gnuplot on this file, in its folder.
set encoding utf8
ink = '#000000'
rule = '#dddddd'
ground = '#ffffff'
set terminal pngcairo noenhanced size 2560,988 font 'Sans,19.5' linewidth 2 background rgb ground
set output 'llama3-8b-scaling.png'
set multiplot layout 1,3 margins screen 0.07, screen 0.98, screen 0.2308, screen 0.96 spacing screen 0.085, screen 0
set key at screen 0.06, screen 0.1093 left top vertical Left reverse samplen 2
set xlabel 'GPUs'
set logscale x 2
set grid lc rgb rule
set tics nomirror out
set border 3
set xtics (8, 16, 32, 64, 128)
set xrange [7.27272727:140.8]
set yrange [0:*]
set ylabel 'step, ms'
plot 'llama3-8b-scaling.dat' index 0 using 1:2 with linespoints pt 7 ps 1.4 lw 1.5 lc rgb '#1f66ad' title 'ZeRO-2', \
  'llama3-8b-scaling.dat' index 1 using 1:2 with linespoints pt 5 ps 1.4 lw 1.5 lc rgb '#e6813c' title 'ZeRO-3'
unset key
set logscale y
set yrange [48072.4965:948410.751]
set ytics ("50k" 50000, "100k" 100000, "200k" 200000, "500k" 500000)
set ylabel 'tokens per second (dashed: as the first)'
plot 'llama3-8b-scaling.dat' index 0 using 1:4 with lines dt 2 lc rgb '#1f66ad' notitle, \
  'llama3-8b-scaling.dat' index 0 using 1:3 with linespoints pt 7 ps 1.4 lw 1.5 lc rgb '#1f66ad' title 'ZeRO-2', \
  'llama3-8b-scaling.dat' index 1 using 1:4 with lines dt 2 lc rgb '#e6813c' notitle, \
  'llama3-8b-scaling.dat' index 1 using 1:3 with linespoints pt 5 ps 1.4 lw 1.5 lc rgb '#e6813c' title 'ZeRO-3'
unset logscale y
set ytics autofreq
set yrange [0:*]
set arrow from graph 0, first 100 to graph 1, first 100 nohead lc rgb ink lw 0.7
set ylabel 'tokens per second per GPU, % of the first (line: 100 %)'
plot 'llama3-8b-scaling.dat' index 0 using 1:5 with linespoints pt 7 ps 1.4 lw 1.5 lc rgb '#1f66ad' title 'ZeRO-2', \
  'llama3-8b-scaling.dat' index 1 using 1:5 with linespoints pt 5 ps 1.4 lw 1.5 lc rgb '#e6813c' title 'ZeRO-3'
unset multiplot
