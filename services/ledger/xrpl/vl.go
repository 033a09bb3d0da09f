package xrpl

import "fmt"

// A length prefix (VL) takes one byte up to 192, two up to 12,480 and three up to MaxVL. Each
// length has one encoding. Source: xrpl.org/serialization.html, "Length Prefixing".
const (
	oneByte = 192
	twoByte = 12_480

	// MaxVL is the greatest length that can be encoded, in bytes, so also of a transaction.
	MaxVL = 918_744
)

// AppendVL appends the length prefix of n bytes. A length without encoding (n < 0 or n > MaxVL)
// becomes a byte that no reader accepts.
func AppendVL(b []byte, n int) []byte {
	switch {
	case n < 0 || n > MaxVL:
		return append(b, 0xff)
	case n <= oneByte:
		return append(b, byte(n))
	case n <= twoByte:
		n -= oneByte + 1
		return append(b, byte(193+n>>8), byte(n))
	}
	n -= twoByte + 1
	return append(b, byte(241+n>>16), byte(n>>8), byte(n))
}

// ReadVL reads the length n and the size of its prefix. It does not check that n bytes follow.
func ReadVL(b []byte) (n, size int, err error) {
	if len(b) == 0 {
		return 0, 0, fmt.Errorf("%w: a length is missing", ErrMalformed)
	}
	first := int(b[0])
	switch {
	case first <= oneByte:
		return first, 1, nil
	case first <= 240 && len(b) >= 2:
		return oneByte + 1 + (first-193)<<8 + int(b[1]), 2, nil
	case first >= 241 && len(b) >= 3:
		n = twoByte + 1 + (first-241)<<16 + int(b[1])<<8 + int(b[2])
	case first >= 193:
		return 0, 0, fmt.Errorf("%w: a length is cut off", ErrMalformed)
	}
	if n > MaxVL {
		return 0, 0, fmt.Errorf("%w: a length of %d is over the most there is, %d", ErrMalformed, n, MaxVL)
	}
	return n, 3, nil
}
