# Written by foretrain. To draw it again: gnuplot on this file, in its folder.
set encoding utf8
ink = '#000000'
rule = '#dddddd'
ground = '#ffffff'
set terminal pngcairo noenhanced size 2560,984 font 'Sans,19.5' linewidth 2 background rgb ground
set output 'llama3-8b-tornado.png'
set title 'llama-3-8b, ZeRO-3 (fsdp2), 16 × h100-sxm5-80gb: what its step of 7832.74 ms hangs on'
set xlabel 'ms that the step gets longer (+) or shorter (-)'
set xrange [-1075.26412:1075.26412]
set yrange [-0.7:6.7]
set tics nomirror out
set border 1
set key outside right top vertical Left reverse samplen 2
set lmargin at screen 0.16
set arrow from 0, graph 0 to 0, graph 1 nohead lc rgb ink lw 0.7
set ytics ('leaf oversubscription' 0, 'memory size' 1, 'node bandwidth' 2, 'network latency' 3, 'memory bandwidth' 4, 'matmul rate' 5, 'network bandwidth' 6)
plot \
  'llama3-8b-tornado.dat' index 0 using ($2/2):1:(0):2:($1-0.36):($1+0.36) with boxxyerror fs solid 1 noborder lc rgb '#9c2a1c' title 'a tenth less', \
  'llama3-8b-tornado.dat' index 0 using ($2+($2<0?-1:1)*77.4190169):1:3 with labels tc rgb ink notitle, \
  'llama3-8b-tornado.dat' index 1 using ($2/2):1:(0):2:($1-0.36):($1+0.36) with boxxyerror fs solid 1 noborder lc rgb '#6fa8dc' title 'a tenth more', \
  'llama3-8b-tornado.dat' index 1 using ($2+($2<0?-1:1)*77.4190169):1:3 with labels tc rgb ink notitle
