# Written by foretrain. To draw it again: gnuplot on this file, in its folder.
set encoding utf8
ink = '#000000'
rule = '#dddddd'
ground = '#ffffff'
set terminal pngcairo noenhanced size 2560,828 font 'Sans,19.5' linewidth 2 background rgb ground
set output 'llama2-7b-timeline-zero3.png'
set title 'llama-2-7b, ZeRO-3 (paper), 16 × h100-sxm5-80gb in 2 nodes: 606.98 ms (560 to 705 ms) a step'."\n".'16 ranks, all alike'
set xlabel 'time since the start of the step, ms'
set xrange [0:606.980441]
set yrange [-0.6:2.6]
set key outside right top vertical Left reverse samplen 2 spacing 1.1
set tics nomirror out
set border 3
set lmargin at screen 0.125
set rmargin at screen 0.8
set ytics ('exposed' 0, 'comm' 1, 'compute' 2)
plot \
  keyentry with dots lc rgb ground title 'compute, ms', \
  'llama2-7b-timeline-zero3.dat' index 0 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#a6cee3' title '  forward 146.25', \
  'llama2-7b-timeline-zero3.dat' index 1 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#6fa8dc' title '  recompute 143.23', \
  'llama2-7b-timeline-zero3.dat' index 2 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#1f66ad' title '  backward 310.12', \
  'llama2-7b-timeline-zero3.dat' index 3 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#08203f' title '  optimizer 4.80', \
  keyentry with dots lc rgb ground title 'communication', \
  'llama2-7b-timeline-zero3.dat' index 4 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#fdd0a2' title '  all-gather 74.19', \
  'llama2-7b-timeline-zero3.dat' index 5 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#e6813c' title '  reduce-scatter 51.98', \
  keyentry with dots lc rgb ground title 'exposed by', \
  'llama2-7b-timeline-zero3.dat' index 6 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#650000' title '  bandwidth 1.67', \
  'llama2-7b-timeline-zero3.dat' index 7 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#f29072' title '  latency 0.16', \
  'llama2-7b-timeline-zero3.dat' index 8 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#e8b04a' title '  bucket-fill 0.75', \
  'llama2-7b-timeline-zero3.dat' index 9 using 1:2:(0):3 with vectors nohead lw 0.5 lc rgb 'black' notitle, \
  'llama2-7b-timeline-zero3.dat' index 10 using 1:2:3:4 with labels font ',13.5' textcolor rgb variable notitle
