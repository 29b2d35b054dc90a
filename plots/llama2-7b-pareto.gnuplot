# Written by foretrain. To draw it again: gnuplot on this file, in its folder.
set encoding utf8
set terminal pngcairo noenhanced size 2560,1280 font 'Sans,24' linewidth 2 background rgb 'white'
set output 'llama2-7b-pareto.png'
set xlabel 'peak reserved, GiB (less is better)'
set xrange [4.22785156:59.1100391]
set ylabel 'tokens per second per gpu (more is better)'
set yrange [390.516498:7730.14351]
set title '66 runs, 8 on the front'
set grid lc rgb '#dddddd'
set tics nomirror out
set border 3
set key outside right top vertical Left reverse samplen 1 spacing 1.1
plot 'llama2-7b-pareto.dat' index 0 using 1:2 with points pt 7 ps 0.8 lc rgb '#9db7d2' title 'runs', \
  'llama2-7b-pareto.dat' index 1 using 1:2 with steps lw 1.5 lc rgb '#08203f' title 'the front', \
  'llama2-7b-pareto.dat' index 1 every ::0::0 using 1:2 with points pt 7 ps 1.8 lc rgb '#9c2a1c' title '1  aws-p4d, ZeRO-3, micro-batch 1, run 268', \
  'llama2-7b-pareto.dat' index 1 every ::1::1 using 1:2 with points pt 7 ps 1.8 lc rgb '#9c2a1c' title '2  dgx-h100, ZeRO-3, micro-batch 1, run 266', \
  'llama2-7b-pareto.dat' index 1 every ::2::2 using 1:2 with points pt 7 ps 1.8 lc rgb '#9c2a1c' title '3  dgx-h100, ZeRO-3, micro-batch 2, run 272', \
  'llama2-7b-pareto.dat' index 1 every ::3::3 using 1:2 with points pt 7 ps 1.8 lc rgb '#9c2a1c' title '4  dgx-h100, ZeRO-3, micro-batch 4, run 278', \
  'llama2-7b-pareto.dat' index 1 every ::4::4 using 1:2 with points pt 7 ps 1.8 lc rgb '#9c2a1c' title '5  dgx-h100, ZeRO-2, micro-batch 4, run 254', \
  'llama2-7b-pareto.dat' index 1 every ::5::5 using 1:2 with points pt 7 ps 1.8 lc rgb '#9c2a1c' title '6  dgx-h100, ZeRO-3, micro-batch 8, run 284', \
  'llama2-7b-pareto.dat' index 1 every ::6::6 using 1:2 with points pt 7 ps 1.8 lc rgb '#9c2a1c' title '7  dgx-h100, ZeRO-2, micro-batch 8, run 260', \
  'llama2-7b-pareto.dat' index 1 every ::7::7 using 1:2 with points pt 7 ps 1.8 lc rgb '#9c2a1c' title '8  dgx-h100, ZeRO-1, micro-batch 8, run 236', \
  'llama2-7b-pareto.dat' index 1 using 1:2:3 with labels offset 0,0.9 notitle
