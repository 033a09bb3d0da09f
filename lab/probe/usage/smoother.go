package usage

// smoother is a sum that is read rarely but reported at every reading: each increase is spread
// evenly over the readings until the next one. It lags by that time, but a rate computed from it
// does not depend on where a span begins and ends between two readings of the sum.
type smoother struct {
	sum  float64
	each float64 // increase at each of the remaining readings
	left int
}

// add takes an increase of the sum and spreads it over the given number of readings.
func (d *smoother) add(grown float64, over int) {
	d.sum += d.each * float64(d.left) // the rest of the previous increase, if this one came early
	d.each, d.left = grown/float64(over), over
}

// next returns the sum at the next reading.
func (d *smoother) next() float64 {
	if d.left > 0 {
		d.sum += d.each
		d.left--
	}
	return d.sum
}
