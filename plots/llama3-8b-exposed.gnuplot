# Written by foretrain. To draw it again: gnuplot on this file, in its folder.
set encoding utf8
ink = '#000000'
rule = '#dddddd'
ground = '#ffffff'
set terminal pngcairo noenhanced size 2560,1040 font 'Sans,19.5' linewidth 2 background rgb ground
set output 'llama3-8b-exposed.png'
set title 'Why compute stands still, per step of the slowest ranks: llama-3-8b on 16 × h100-sxm5-80gb'
set ylabel 'exposed and idle, ms'
set xrange [-0.6:3.6]
set yrange [0:5184.58732]
set key outside right top vertical Left reverse invert samplen 2 spacing 1.1
set tics nomirror out
set border 3
set bmargin 3
set grid ytics lc rgb rule
set xtics ('ZeRO-0 (paper)'."\nrun 1: 2858.99 ms if it fitted" 0, 'ZeRO-1 (paper)'."\nrun 2: 4353.32 ms" 1, 'ZeRO-2 (paper)'."\nrun 3: 4353.32 ms" 2, 'ZeRO-3 (paper)'."\nrun 4: 5980.56 ms" 3)
plot \
  'llama3-8b-exposed.dat' index 0 using 1:(($2+$3)/2):($1-0.36):($1+0.36):2:3 with boxxyerror fs solid 1 noborder lc rgb '#8e2a7a' title 'serialised', \
  'llama3-8b-exposed.dat' index 1 using 1:(($2+$3)/2):($1-0.36):($1+0.36):2:3 with boxxyerror fs solid 1 noborder lc rgb '#c2412d' title 'boundary', \
  'llama3-8b-exposed.dat' index 2 using 1:(($2+$3)/2):($1-0.36):($1+0.36):2:3 with boxxyerror fs solid 1 noborder lc rgb '#e8b04a' title 'bucket-fill', \
  'llama3-8b-exposed.dat' index 3 using 1:(($2+$3)/2):($1-0.36):($1+0.36):2:3 with boxxyerror fs solid 1 noborder lc rgb '#f29072' title 'latency', \
  'llama3-8b-exposed.dat' index 4 using 1:(($2+$3)/2):($1-0.36):($1+0.36):2:3 with boxxyerror fs solid 1 noborder lc rgb '#650000' title 'bandwidth', \
  'llama3-8b-exposed.dat' index 5 using 1:2:3 with labels offset 0,0.7 tc rgb ink notitle
