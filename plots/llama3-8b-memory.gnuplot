# Written by foretrain. To draw it again: gnuplot on this file, in its folder.
set encoding utf8
ink = '#000000'
rule = '#dddddd'
ground = '#ffffff'
set terminal pngcairo noenhanced size 2560,960 font 'Sans,19.5' linewidth 2 background rgb ground
set output 'llama3-8b-memory.png'
set title 'llama-3-8b, ZeRO-3 (fsdp2), 8 × h100-sxm5-80gb in 1 node: 1239.34 ms (1112 to 1439 ms) a step'."\n".'8 ranks, all alike; tensors hold at most 39.02 GiB, at 341.51 ms'
set xlabel 'time since the start of the step as the GPU comes to it, ms'
set ylabel 'memory per GPU, GiB'
set xrange [0:1239.34029]
set yrange [0:83.0655]
set key outside right top vertical Left reverse samplen 2 spacing 1.1
set tics nomirror out
set border 3
plot \
  'llama3-8b-memory.dat' index 0 using 1:9:10 with filledcurves fs solid 1 noborder lc rgb '#d9d9d9' title 'cache, rounding', \
  'llama3-8b-memory.dat' index 0 using 1:8:9 with filledcurves fs solid 1 noborder lc rgb '#9c2a1c' title 'temporary', \
  'llama3-8b-memory.dat' index 0 using 1:7:8 with filledcurves fs solid 1 noborder lc rgb '#f2a65a' title 'activations', \
  'llama3-8b-memory.dat' index 0 using 1:6:7 with filledcurves fs solid 1 noborder lc rgb '#33792c' title 'communication', \
  'llama3-8b-memory.dat' index 0 using 1:5:6 with filledcurves fs solid 1 noborder lc rgb '#d3efb5' title 'gradients', \
  'llama3-8b-memory.dat' index 0 using 1:4:5 with filledcurves fs solid 1 noborder lc rgb '#2a6db5' title 'optimizer', \
  'llama3-8b-memory.dat' index 0 using 1:3:4 with filledcurves fs solid 1 noborder lc rgb '#9cc7e0' title 'parameters', \
  'llama3-8b-memory.dat' index 0 using 1:2:3 with filledcurves fs solid 1 noborder lc rgb '#333333' title 'overhead', \
  79.11 with lines lc rgb ground lw 4 notitle, \
  79.11 with lines lc rgb ink lw 2 dt (12,6) title 'capacity, 79.11', \
  48.8253906 with lines lc rgb ground lw 4 notitle, \
  48.8253906 with lines lc rgb ink lw 2 dt (2,4) title 'peak on the device, 48.83', \
  'llama3-8b-memory.dat' index 1 with points pt 7 ps 1.8 lc rgb ground notitle, \
  'llama3-8b-memory.dat' index 1 with points pt 7 ps 1.2 lc rgb ink title 'tensors at most, 39.02'
