module example.com/made

go 1.24
