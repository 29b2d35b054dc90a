# Written by foretrain. To draw it again: gnuplot on this file, in its folder.
set encoding utf8
ink = '#000000'
rule = '#dddddd'
ground = '#ffffff'
set terminal pngcairo noenhanced size 2560,1280 font 'Sans,19.5' linewidth 2 background rgb ground
set output 'llama3-8b-pareto.png'
set xlabel 'peak reserved, GiB (less is better)'
set xrange [31.913125:67.25875]
set ylabel 'tokens per second per gpu (more is better)'
set yrange [6588.29723:6992.82331]
set title '11 runs, 8 on the front'
set grid lc rgb rule
set tics nomirror out
set border 3
set key outside right top vertical Left reverse samplen 1 spacing 1.1
plot 'llama3-8b-pareto.dat' index 0 using 1:2 with points pt 7 ps 1.0 lc rgb '#9db7d2' title 'runs', \
  'llama3-8b-pareto.dat' index 1 using 1:2 with steps lw 1.5 lc rgb '#08203f' title 'the front', \
  'llama3-8b-pareto.dat' index 1 every ::0::0 using 1:2 with points pt 7 ps 1.8 lc rgb '#9c2a1c' title '1  ZeRO-3, nodes 8, micro-batch 1, run 22', \
  'llama3-8b-pareto.dat' index 1 every ::1::1 using 1:2 with points pt 7 ps 1.8 lc rgb '#9c2a1c' title '2  ZeRO-3, nodes 4, micro-batch 1, run 16', \
  'llama3-8b-pareto.dat' index 1 every ::2::2 using 1:2 with points pt 7 ps 1.8 lc rgb '#9c2a1c' title '3  ZeRO-2, nodes 8, micro-batch 1, run 19', \
  'llama3-8b-pareto.dat' index 1 every ::3::3 using 1:2 with points pt 7 ps 1.8 lc rgb '#9c2a1c' title '4  ZeRO-2, nodes 4, micro-batch 1, run 13', \
  'llama3-8b-pareto.dat' index 1 every ::4::4 using 1:2 with points pt 7 ps 1.8 lc rgb '#9c2a1c' title '5  ZeRO-2, nodes 2, micro-batch 1, run 7', \
  'llama3-8b-pareto.dat' index 1 every ::5::5 using 1:2 with points pt 7 ps 1.8 lc rgb '#9c2a1c' title '6  ZeRO-3, nodes 8, micro-batch 2, run 23', \
  'llama3-8b-pareto.dat' index 1 every ::6::6 using 1:2 with points pt 7 ps 1.8 lc rgb '#9c2a1c' title '7  ZeRO-3, nodes 4, micro-batch 2, run 17', \
  'llama3-8b-pareto.dat' index 1 every ::7::7 using 1:2 with points pt 7 ps 1.8 lc rgb '#9c2a1c' title '8  ZeRO-3, nodes 2, micro-batch 2, run 11', \
  'llama3-8b-pareto.dat' index 1 using 1:2:3 with labels offset 0,0.9 tc rgb ink notitle
