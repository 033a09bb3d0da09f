package format

import (
	"bytes"
	"math"
	"strconv"
)

// Numbers is a list of figures; NaN is null. Four significant digits: a chart has fewer pixels.
type Numbers []float64

// MarshalJSON writes four significant digits of each.
func (c Numbers) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, v := range c {
		if i > 0 {
			b.WriteByte(',')
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			b.WriteString("null")
			continue
		}
		b.WriteString(strconv.FormatFloat(Significant(v, 4), 'f', -1, 64))
	}
	b.WriteByte(']')
	return b.Bytes(), nil
}

// Empty reports whether a list has only blanks or zeros.
func (c Numbers) Empty() bool {
	for _, v := range c {
		if !math.IsNaN(v) && v != 0 {
			return false
		}
	}
	return true
}
