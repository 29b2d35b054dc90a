# Written by foretrain. To draw it again: gnuplot on this file, in its folder.
set encoding utf8
set terminal pngcairo noenhanced size 2560,1048 font 'Sans,24' linewidth 2 background rgb 'white'
set output 'llama3-8b-timeline-eth100.png'
set title 'llama-3-8b, ZeRO-3 (fsdp2), 16 × h100-sxm5-80gb in 2 nodes: 7831.74 ms (7276 to 45349 ms) a step'."\n".'16 ranks, all alike'
set xlabel 'time since the start of the step, ms'
set xrange [0:7831.73566]
set yrange [-0.6:5.6]
set key outside right top vertical Left reverse samplen 2 spacing 1.1
set tics nomirror out
set border 3
set ytics ('idle' 0, 'exposed' 1, 'reduce-scatter' 2, 'all-gather' 3, 'compute' 4, 'all-gather copy-in' 5)
plot \
  keyentry with dots lc rgb 'white' title 'compute', \
  'llama3-8b-timeline-eth100.dat' index 0 using (($1+$2)/2):3:1:2:($3-0.42):($3+0.42) with boxxyerror fs solid 1 noborder lc rgb '#a6cee3' title '  forward', \
  'llama3-8b-timeline-eth100.dat' index 1 using (($1+$2)/2):3:1:2:($3-0.42):($3+0.42) with boxxyerror fs solid 1 noborder lc rgb '#6fa8dc' title '  recompute', \
  'llama3-8b-timeline-eth100.dat' index 2 using (($1+$2)/2):3:1:2:($3-0.42):($3+0.42) with boxxyerror fs solid 1 noborder lc rgb '#1f66ad' title '  backward', \
  'llama3-8b-timeline-eth100.dat' index 3 using (($1+$2)/2):3:1:2:($3-0.42):($3+0.42) with boxxyerror fs pattern 5 border lc rgb '#7b5ea7' lc rgb '#7b5ea7' title '  reduce', \
  'llama3-8b-timeline-eth100.dat' index 4 using (($1+$2)/2):3:1:2:($3-0.42):($3+0.42) with boxxyerror fs pattern 4 border lc rgb '#7b5ea7' lc rgb '#7b5ea7' title '  gather', \
  'llama3-8b-timeline-eth100.dat' index 5 using (($1+$2)/2):3:1:2:($3-0.42):($3+0.42) with boxxyerror fs solid 1 noborder lc rgb '#08203f' title '  optimizer', \
  keyentry with dots lc rgb 'white' title 'communication', \
  'llama3-8b-timeline-eth100.dat' index 6 using (($1+$2)/2):3:1:2:($3-0.42):($3+0.42) with boxxyerror fs solid 1 noborder lc rgb '#fdd0a2' title '  all-gather', \
  'llama3-8b-timeline-eth100.dat' index 7 using (($1+$2)/2):3:1:2:($3-0.42):($3+0.42) with boxxyerror fs solid 1 noborder lc rgb '#e6813c' title '  reduce-scatter', \
  'llama3-8b-timeline-eth100.dat' index 8 using (($1+$2)/2):3:1:2:($3-0.42):($3+0.42) with boxxyerror fs solid 1 noborder lc rgb '#8c3a04' title '  all-reduce', \
  keyentry with dots lc rgb 'white' title 'exposed by', \
  'llama3-8b-timeline-eth100.dat' index 9 using (($1+$2)/2):3:1:2:($3-0.42):($3+0.42) with boxxyerror fs solid 1 noborder lc rgb '#650000' title '  bandwidth', \
  'llama3-8b-timeline-eth100.dat' index 10 using (($1+$2)/2):3:1:2:($3-0.42):($3+0.42) with boxxyerror fs solid 1 noborder lc rgb '#f29072' title '  latency', \
  'llama3-8b-timeline-eth100.dat' index 11 using (($1+$2)/2):3:1:2:($3-0.42):($3+0.42) with boxxyerror fs pattern 2 border lc rgb '#8a6d00' lc rgb '#8a6d00' title '  host', \
  keyentry with dots lc rgb 'white' title 'idle by', \
  'llama3-8b-timeline-eth100.dat' index 12 using (($1+$2)/2):3:1:2:($3-0.42):($3+0.42) with boxxyerror fs solid 1 noborder lc rgb '#9e9e9e' title '  host-idle', \
  'llama3-8b-timeline-eth100.dat' index 13 using 1:2:3:4 with labels font ',16' textcolor rgb variable notitle
