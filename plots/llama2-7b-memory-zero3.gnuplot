# Written by foretrain. To draw it again: gnuplot on this file, in its folder.
set encoding utf8
set terminal pngcairo noenhanced size 2560,960 font 'Sans,24' linewidth 2 background rgb 'white'
set output 'llama2-7b-memory-zero3.png'
set title 'llama-2-7b, ZeRO-3 (paper), 16 × h100-sxm5-80gb in 2 nodes: 598.92 ms (561 to 1102 ms) a step'."\n".'16 ranks, all alike; highest here: 10.29 GiB at 146.08 ms'
set xlabel 'time since the start of the step, ms'
set ylabel 'memory per GPU, GiB'
set xrange [0:598.924636]
set yrange [0:14.4157812]
set key outside right top vertical Left reverse samplen 2 spacing 1.1
set tics nomirror out
set border 3
set arrow from graph 0.02, graph 0.90 to graph 0.02, graph 0.995 head filled lw 2
set label 'capacity 79.11 GiB, above' at graph 0.035, graph 0.95 left
plot \
  'llama2-7b-memory-zero3.dat' index 0 using 1:8:9 with filledcurves fs solid 1 noborder lc rgb '#9c2a1c' title 'temporary', \
  'llama2-7b-memory-zero3.dat' index 0 using 1:7:8 with filledcurves fs solid 1 noborder lc rgb '#f2a65a' title 'activations', \
  'llama2-7b-memory-zero3.dat' index 0 using 1:6:7 with filledcurves fs solid 1 noborder lc rgb '#33792c' title 'communication', \
  'llama2-7b-memory-zero3.dat' index 0 using 1:5:6 with filledcurves fs solid 1 noborder lc rgb '#d3efb5' title 'gradients', \
  'llama2-7b-memory-zero3.dat' index 0 using 1:4:5 with filledcurves fs solid 1 noborder lc rgb '#2a6db5' title 'optimizer', \
  'llama2-7b-memory-zero3.dat' index 0 using 1:3:4 with filledcurves fs solid 1 noborder lc rgb '#9cc7e0' title 'parameters', \
  'llama2-7b-memory-zero3.dat' index 0 using 1:2:3 with filledcurves fs solid 1 noborder lc rgb '#333333' title 'overhead', \
  11.0890625 with lines lc rgb 'white' lw 4 notitle, \
  11.0890625 with lines lc rgb 'black' lw 2 dt (2,4) title 'peak of all steps, 11.09', \
  'llama2-7b-memory-zero3.dat' index 1 with points pt 7 ps 1.8 lc rgb 'white' notitle, \
  'llama2-7b-memory-zero3.dat' index 1 with points pt 7 ps 1.2 lc rgb 'black' title 'highest here, 10.29'
