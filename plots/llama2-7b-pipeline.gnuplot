# Written by foretrain. To draw it again: gnuplot on this file, in its folder.
set encoding utf8
ink = '#000000'
rule = '#dddddd'
ground = '#ffffff'
set terminal pngcairo noenhanced size 2560,1136 font 'Sans,19.5' linewidth 2 background rgb ground
set output 'llama2-7b-pipeline.png'
set title 'llama-2-7b, ZeRO-1 (megatron), 16 × h100-sxm5-80gb in 2 nodes: 1044.19 ms (954 to 1327 ms) a step'."\n".'all 4 stages: passes by micro-batch, what runs again as backward; beneath each lane its collectives'
set xlabel 'time since the start of the step, ms'
set xrange [0:1044.19339]
set yrange [-0.6:7.6]
set key outside right top vertical Left reverse samplen 2 spacing 1.1
set tics nomirror out
set border 3
set lmargin at screen 0.125
set rmargin at screen 0.8
set ytics ('' 0, 'stage 3' 1, '' 2, 'stage 2' 3, '' 4, 'stage 1' 5, '' 6, 'stage 0' 7)
plot \
  keyentry with dots lc rgb ground title 'compute, ms', \
  'llama2-7b-pipeline.dat' index 0 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#e6e6e6' title '  setup 9.66', \
  'llama2-7b-pipeline.dat' index 1 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#a6cee3' title '  forward 856.94', \
  'llama2-7b-pipeline.dat' index 2 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#1f66ad' title '  backward 1919.62', \
  'llama2-7b-pipeline.dat' index 3 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#7b5ea7' title '  reduce 28.13', \
  'llama2-7b-pipeline.dat' index 4 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#08203f' title '  optimizer 29.38', \
  keyentry with dots lc rgb ground title 'communication', \
  'llama2-7b-pipeline.dat' index 5 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#fdd0a2' title '  all-gather 31.76', \
  'llama2-7b-pipeline.dat' index 6 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#e6813c' title '  reduce-scatter 62.65', \
  'llama2-7b-pipeline.dat' index 7 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#8c3a04' title '  all-reduce 329.69', \
  'llama2-7b-pipeline.dat' index 8 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#d9b26f' title '  send-recv 537.97', \
  keyentry with dots lc rgb ground title 'exposed by', \
  'llama2-7b-pipeline.dat' index 9 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#650000' title '  bandwidth 45.48', \
  'llama2-7b-pipeline.dat' index 10 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#f29072' title '  latency 1.11', \
  'llama2-7b-pipeline.dat' index 11 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#e8b04a' title '  bucket-fill 45.94', \
  'llama2-7b-pipeline.dat' index 12 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#8a6d00' title '  host 5.72', \
  keyentry with dots lc rgb ground title 'idle by', \
  'llama2-7b-pipeline.dat' index 13 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#9e9e9e' title '  host-idle 10.83', \
  'llama2-7b-pipeline.dat' index 14 using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc rgb '#d9d9d9' title '  bubble 1223.97', \
  'llama2-7b-pipeline.dat' index 15 using 1:2:(0):3 with vectors nohead lw 0.5 lc rgb 'black' notitle, \
  'llama2-7b-pipeline.dat' index 16 using 1:2:3:4 with labels font ',13.5' textcolor rgb variable notitle
