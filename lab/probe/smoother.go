package probe

// drip is a sum that is read now and then but shown at every reading: what it grew by is spread evenly over
// the readings until it is read again. It is late by that long, but a rate taken from it does not depend on
// where between two readings of the sum its span begins and ends.
type drip struct {
	sum  float64
	each float64 // added at each of the readings left
	left int
}

// add takes in what the sum grew by, to be spread over so many readings.
func (d *drip) add(grown float64, over int) {
	d.sum += d.each * float64(d.left) // of before, when this came early
	d.each, d.left = grown/float64(over), over
}

// next is the sum at the next reading.
func (d *drip) next() float64 {
	if d.left > 0 {
		d.sum += d.each
		d.left--
	}
	return d.sum
}
