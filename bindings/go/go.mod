module lazyxla

go 1.19
