package usage

// smoother is a sum that is read rarely but reported at every reading. It spreads each increase
// evenly over the readings until the next one. So it lags by that time; but a rate computed from it
// does not depend on whether a span happens to contain the reading of an increase.
type smoother struct {
	sum  float64
	each float64 // increase per remaining reading
	left int
}

// add adds an increase of the sum, spread over the given number of readings.
func (d *smoother) add(grown float64, over int) {
	d.sum += d.each * float64(d.left) // what is left of the previous increase, if this one came early
	d.each, d.left = grown/float64(over), over
}

// next advances to the next reading and returns the sum there.
func (d *smoother) next() float64 {
	if d.left > 0 {
		d.sum += d.each
		d.left--
	}
	return d.sum
}
