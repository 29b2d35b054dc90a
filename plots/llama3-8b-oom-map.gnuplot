# Written by foretrain. To draw it again: gnuplot on this file, in its folder.
set encoding utf8
ink = '#000000'
rule = '#dddddd'
ground = '#ffffff'
set terminal pngcairo noenhanced size 2560,1320 font 'Sans,19.5' linewidth 2 background rgb ground
set output 'llama3-8b-oom-map.png'
set label 1 'llama3-8b-fsdp2: what fits; GiB to spare (+) or missing (-) per GPU' at screen 0.5, screen 0.971 center tc rgb ink
set multiplot layout 1,2 margins screen 0.061, screen 0.98, screen 0.152, screen 0.902 spacing screen 0.037, screen 0.135
set key at screen 0.5, screen 0.029 center horizontal maxrows 1 samplen 2
set tics nomirror out
set border 3
set xlabel 'sequence_length'
set xrange [-0.5:3.5]
set xtics ('2048' 0, '4096' 1, '8192' 2, '16384' 3)
set ylabel 'micro_batch'
set yrange [-0.5:3.5]
set ytics ('1' 0, '2' 1, '3' 2, '4' 3)
set title 'zero_stage 2'
plot 'llama3-8b-oom-map.dat' index 0 using ($3==0?$1:NaN):2:($1-0.48):($1+0.48):($2-0.46):($2+0.46) with boxxyerror fs solid noborder lc rgb '#9fd08a' notitle, \
  NaN with boxes fs solid noborder lc rgb '#9fd08a' title 'fits', \
  'llama3-8b-oom-map.dat' index 0 using ($3==1?$1:NaN):2:($1-0.48):($1+0.48):($2-0.46):($2+0.46) with boxxyerror fs solid noborder lc rgb '#f5d76e' notitle, \
  NaN with boxes fs solid noborder lc rgb '#f5d76e' title 'at the edge', \
  'llama3-8b-oom-map.dat' index 0 using ($3==2?$1:NaN):2:($1-0.48):($1+0.48):($2-0.46):($2+0.46) with boxxyerror fs solid noborder lc rgb '#e58a7b' notitle, \
  NaN with boxes fs solid noborder lc rgb '#e58a7b' title 'out of memory', \
  'llama3-8b-oom-map.dat' index 0 using ($3==3?$1:NaN):2:($1-0.48):($1+0.48):($2-0.46):($2+0.46) with boxxyerror fs solid noborder lc rgb '#bbbbbb' notitle, \
  NaN with boxes fs solid noborder lc rgb '#bbbbbb' title 'cannot run', \
  'llama3-8b-oom-map.dat' index 0 using 1:2:4 with labels notitle
set key off
unset label 1
set ylabel ''
set title 'zero_stage 3'
plot 'llama3-8b-oom-map.dat' index 1 using ($3==0?$1:NaN):2:($1-0.48):($1+0.48):($2-0.46):($2+0.46) with boxxyerror fs solid noborder lc rgb '#9fd08a' notitle, \
  NaN with boxes fs solid noborder lc rgb '#9fd08a' title 'fits', \
  'llama3-8b-oom-map.dat' index 1 using ($3==1?$1:NaN):2:($1-0.48):($1+0.48):($2-0.46):($2+0.46) with boxxyerror fs solid noborder lc rgb '#f5d76e' notitle, \
  NaN with boxes fs solid noborder lc rgb '#f5d76e' title 'at the edge', \
  'llama3-8b-oom-map.dat' index 1 using ($3==2?$1:NaN):2:($1-0.48):($1+0.48):($2-0.46):($2+0.46) with boxxyerror fs solid noborder lc rgb '#e58a7b' notitle, \
  NaN with boxes fs solid noborder lc rgb '#e58a7b' title 'out of memory', \
  'llama3-8b-oom-map.dat' index 1 using ($3==3?$1:NaN):2:($1-0.48):($1+0.48):($2-0.46):($2+0.46) with boxxyerror fs solid noborder lc rgb '#bbbbbb' notitle, \
  NaN with boxes fs solid noborder lc rgb '#bbbbbb' title 'cannot run', \
  'llama3-8b-oom-map.dat' index 1 using 1:2:4 with labels notitle
set key off
unset label 1
unset multiplot
