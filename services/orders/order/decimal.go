package order

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Decimal is a price or quantity with eight decimals: an exact number of units of 10^-8, from
// -92,233,720,368.54775808 to 92,233,720,368.54775807.
type Decimal int64

const decimals = 8

const one = 100_000_000

var tens = [decimals + 1]uint64{1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, one}

// ErrDecimal is the error of ParseDecimal.
var ErrDecimal = errors.New("no decimal number such as 101.25 with at most 8 decimals and below 92,233,720,368")

// ParseDecimal parses digits with at most eight decimals, without an exponent.
func ParseDecimal(text string) (Decimal, error) {
	whole, fraction, dotted := strings.Cut(text, ".")
	negative := strings.HasPrefix(whole, "-")
	whole = strings.TrimPrefix(whole, "-")
	if whole == "" || dotted && fraction == "" {
		return 0, ErrDecimal
	}
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > decimals {
		return 0, ErrDecimal
	}
	units, err := strconv.ParseUint(whole, 10, 64)
	if err != nil || units > math.MaxInt64/one {
		return 0, ErrDecimal
	}
	var parts uint64
	if fraction != "" {
		if parts, err = strconv.ParseUint(fraction, 10, 64); err != nil {
			return 0, ErrDecimal
		}
		parts *= tens[decimals-len(fraction)]
	}
	total := units*one + parts
	switch {
	case negative && total <= math.MaxInt64+1:
		return Decimal(-int64(total)), nil
	case !negative && total <= math.MaxInt64:
		return Decimal(total), nil
	}
	return 0, ErrDecimal
}

// Append appends the number without trailing zeros.
func (d Decimal) Append(dst []byte) []byte {
	u := uint64(d)
	if d < 0 {
		dst = append(dst, '-')
		u = -u
	}
	dst = strconv.AppendUint(dst, u/one, 10)
	fraction := u % one
	if fraction == 0 {
		return dst
	}
	dst = append(dst, '.')
	for unit := uint64(one / 10); fraction > 0; unit /= 10 {
		dst = append(dst, '0'+byte(fraction/unit))
		fraction %= unit
	}
	return dst
}

// String formats the number without trailing zeros.
func (d Decimal) String() string { return string(d.Append(nil)) }
