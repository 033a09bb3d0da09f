package importer

import (
	"cmp"
	"math/big"
	"strconv"

	"github.com/getkin/kin-openapi/openapi3"
)

// numberBounds are the bounds that a schema sets for a number.
type numberBounds struct {
	low, high       *big.Rat // nil: none
	aboveLow, under bool     // the bound itself is not permitted
	step            *big.Rat // the number is a multiple; nil: any
}

// exactRat is the exact value of a number's decimal form: 0.1 is one tenth.
func exactRat(f float64) *big.Rat {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	if !ok {
		return new(big.Rat)
	}
	return r
}

// boundsOf reads the bounds of both versions: in OpenAPI 3.0 exclusiveMinimum is a flag that
// excludes minimum itself, in 3.1 it is a bound of its own (JSON Schema 2020-12 validation, 6.2).
func boundsOf(s *openapi3.Schema, integer bool) (b numberBounds) {
	if s.Min != nil {
		b.low, b.aboveLow = exactRat(*s.Min), s.ExclusiveMin.IsTrue()
	}
	if x := s.ExclusiveMin.Value; x != nil && (b.low == nil || exactRat(*x).Cmp(b.low) >= 0) {
		b.low, b.aboveLow = exactRat(*x), true
	}
	if s.Max != nil {
		b.high, b.under = exactRat(*s.Max), s.ExclusiveMax.IsTrue()
	}
	if x := s.ExclusiveMax.Value; x != nil && (b.high == nil || exactRat(*x).Cmp(b.high) <= 0) {
		b.high, b.under = exactRat(*x), true
	}
	if s.MultipleOf != nil && *s.MultipleOf > 0 {
		b.step = exactRat(*s.MultipleOf)
	}
	if integer {
		b.step = new(big.Rat).SetInt(cmp.Or(b.step, big.NewRat(1, 1)).Num()) // the least common multiple with 1
	}
	return b
}

func (b *numberBounds) permits(n *big.Rat) bool {
	if b.low != nil && (n.Cmp(b.low) < 0 || b.aboveLow && n.Cmp(b.low) == 0) {
		return false
	}
	if b.high != nil && (n.Cmp(b.high) > 0 || b.under && n.Cmp(b.high) == 0) {
		return false
	}
	return b.step == nil || new(big.Rat).Quo(n, b.step).IsInt()
}

// numberOf returns the decimal form of a number that a schema permits: 1 if possible, else one at
// a bound. Each nth gives a different number.
func numberOf(s *openapi3.Schema, integer bool, nth int) (text, why string) {
	b := boundsOf(s, integer)
	step := cmp.Or(b.step, big.NewRat(1, 1))
	type base struct {
		from *big.Rat
		sign int64 // the direction of the next ones
	}
	bases := []base{{big.NewRat(1, 1), 1}, {step, 1}}
	if b.low != nil {
		n := multipleOf(b.low, step)
		bases = append(bases, base{b.low, 1}, base{n, 1}, base{new(big.Rat).Add(n, step), 1})
	}
	if b.high != nil {
		n := multipleOf(b.high, step)
		bases = append(bases, base{b.high, -1}, base{n, -1}, base{new(big.Rat).Sub(n, step), -1}, base{new(big.Rat).Sub(b.high, step), -1})
	}
	for _, have := range bases {
		if !b.permits(have.from) {
			continue
		}
		n := new(big.Rat).Mul(step, new(big.Rat).SetInt64(have.sign*int64(nth)))
		if n.Add(n, have.from); b.permits(n) {
			return decimal(n), ""
		}
		break
	}
	if b.low != nil && b.high != nil { // a fraction of the way from one bound to the other
		part := new(big.Rat).Sub(b.high, b.low)
		part.Quo(part, new(big.Rat).SetInt64(1<<min(1+nth, 60)))
		if n := new(big.Rat).Add(b.low, part); b.permits(n) {
			return decimal(n), ""
		}
	}
	return "", "no number is within its bounds"
}

// multipleOf is the least multiple of a step that is not below n.
func multipleOf(n, step *big.Rat) *big.Rat {
	q := new(big.Rat).Quo(n, step)
	k := new(big.Int).Div(q.Num(), q.Denom()) // towards minus infinity
	if !q.IsInt() {
		k.Add(k, big.NewInt(1))
	}
	return new(big.Rat).Mul(new(big.Rat).SetInt(k), step)
}

// decimal writes a number without an exponent, and without zeros at its end.
func decimal(n *big.Rat) string {
	digits, exactly := n.FloatPrec()
	const most = 30
	if !exactly || digits > most {
		digits = most
	}
	return n.FloatString(digits)
}
