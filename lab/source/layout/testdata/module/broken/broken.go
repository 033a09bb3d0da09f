package broken

var X = absent
