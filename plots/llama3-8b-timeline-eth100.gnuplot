# Written by foretrain. To draw it again: gnuplot on this file, in its folder.
set encoding utf8
ink = '#000000'
rule = '#dddddd'
ground = '#ffffff'
set terminal pngcairo noenhanced size 2560,1048 font 'Sans,19.5' linewidth 2 background rgb ground
set output 'llama3-8b-timeline-eth100.png'
set title 'llama-3-8b, ZeRO-3 (fsdp2), 16 × h100-sxm5-80gb in 2 nodes: 7832.74 ms (7609 to 11593 ms) a step'."\n".'16 ranks, all alike'
set xlabel 'time since the start of the step, ms'
set xrange [0:7832.74438]
set yrange [-0.6:5.6]
set key outside right top vertical Left reverse samplen 2 spacing 1.1
set tics nomirror out
set border 3
set lmargin at screen 0.125
set rmargin at screen 0.8
set ytics ('idle' 0, 'exposed' 1, 'reduce-scatter' 2, 'all-gather' 3, 'compute' 4, 'all-gather copy-in' 5)
plot \
  keyentry with dots lc rgb ground title 'compute, ms', \
  'llama3-8b-timeline-eth100.dat' index 0 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#a6cee3' title '  forward 332.77', \
  'llama3-8b-timeline-eth100.dat' index 1 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#6fa8dc' title '  recompute 131.93', \
  'llama3-8b-timeline-eth100.dat' index 2 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#1f66ad' title '  backward 705.25', \
  'llama3-8b-timeline-eth100.dat' index 3 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#7b5ea7' title '  reduce 16.42', \
  'llama3-8b-timeline-eth100.dat' index 4 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#c9b3e6' title '  gather 6.83', \
  'llama3-8b-timeline-eth100.dat' index 5 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#08203f' title '  optimizer 8.36', \
  keyentry with dots lc rgb ground title 'communication', \
  'llama3-8b-timeline-eth100.dat' index 6 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#fdd0a2' title '  all-gather 3843.01', \
  'llama3-8b-timeline-eth100.dat' index 7 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#e6813c' title '  reduce-scatter 3968.66', \
  'llama3-8b-timeline-eth100.dat' index 8 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#8c3a04' title '  all-reduce 0.05', \
  keyentry with dots lc rgb ground title 'exposed by', \
  'llama3-8b-timeline-eth100.dat' index 9 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#650000' title '  bandwidth 6636.03', \
  'llama3-8b-timeline-eth100.dat' index 10 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#f29072' title '  latency 0.12', \
  'llama3-8b-timeline-eth100.dat' index 11 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#8a6d00' title '  host 0.75', \
  keyentry with dots lc rgb ground title 'idle by', \
  'llama3-8b-timeline-eth100.dat' index 12 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#9e9e9e' title '  host-idle 0.96', \
  'llama3-8b-timeline-eth100.dat' index 13 using 1:2:(0):3 with vectors nohead lw 0.5 lc rgb 'black' notitle, \
  'llama3-8b-timeline-eth100.dat' index 14 using 1:2:3:4 with labels font ',13.5' textcolor rgb variable notitle
