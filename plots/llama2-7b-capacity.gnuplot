# Written by foretrain. To draw it again: gnuplot on this file, in its folder.
set encoding utf8
ink = '#000000'
rule = '#dddddd'
ground = '#ffffff'
set terminal pngcairo noenhanced size 2560,1120 font 'Sans,19.5' linewidth 2 background rgb ground
set output 'llama2-7b-capacity.png'
set title 'llama2-7b: the largest model of the sweep that fits (open: no larger one was tried)'
set xlabel 'GPUs'
set ylabel 'parameters, billions'
set logscale xy
set xrange [6.4:40]
set yrange [2.80022548:81.2810291]
set xtics (8, 16, 32)
set key left top Left reverse samplen 2
set grid lc rgb rule
set border 3
set tics nomirror out
set ytics (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
plot \
  'llama2-7b-capacity.dat' index 0 using 1:2 with lines lw 2 dt 1 lc rgb '#333333' notitle, \
  'llama2-7b-capacity.dat' index 0 using 1:($3==1?$2:NaN) with points pt 7 ps 2.6 lc rgb '#333333' title 'paper ZeRO-0', \
  'llama2-7b-capacity.dat' index 0 using 1:($3==0?$2:NaN) with points pt 6 ps 2.6 lc rgb '#333333' notitle, \
  'llama2-7b-capacity.dat' index 1 using 1:2 with lines lw 2 dt 1 lc rgb '#e6813c' notitle, \
  'llama2-7b-capacity.dat' index 1 using 1:($3==1?$2:NaN) with points pt 5 ps 2.6 lc rgb '#e6813c' title 'paper ZeRO-1', \
  'llama2-7b-capacity.dat' index 1 using 1:($3==0?$2:NaN) with points pt 4 ps 2.6 lc rgb '#e6813c' notitle, \
  'llama2-7b-capacity.dat' index 2 using 1:2 with lines lw 2 dt 1 lc rgb '#2a6db5' notitle, \
  'llama2-7b-capacity.dat' index 2 using 1:($3==1?$2:NaN) with points pt 9 ps 2.6 lc rgb '#2a6db5' title 'paper ZeRO-2', \
  'llama2-7b-capacity.dat' index 2 using 1:($3==0?$2:NaN) with points pt 8 ps 2.6 lc rgb '#2a6db5' notitle, \
  'llama2-7b-capacity.dat' index 3 using 1:2 with lines lw 2 dt 1 lc rgb '#33792c' notitle, \
  'llama2-7b-capacity.dat' index 3 using 1:($3==1?$2:NaN) with points pt 11 ps 2.6 lc rgb '#33792c' title 'paper ZeRO-3', \
  'llama2-7b-capacity.dat' index 3 using 1:($3==0?$2:NaN) with points pt 10 ps 2.6 lc rgb '#33792c' notitle
