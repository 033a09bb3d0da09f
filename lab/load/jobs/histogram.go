package jobs

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// maxDigits bounds a histogram's memory: up to three digits it takes at most 440 kB whatever its range.
const maxDigits = 3

// decode reads a histogram. The library takes any geometry, one of 50 MB too, so that is looked at first.
func decode(encoded string) (*hdrhistogram.Histogram, error) {
	packed, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, err
	}
	if len(packed) < 8 {
		return nil, errors.New("it is cut off")
	}
	z, err := zlib.NewReader(bytes.NewReader(packed[8:]))
	if err != nil {
		return nil, err
	}
	var header struct{ Cookie, Payload, Offset, Digits int32 }
	if err := binary.Read(z, binary.BigEndian, &header); err != nil {
		return nil, fmt.Errorf("reading its header: %w", err)
	}
	if header.Digits < 0 || header.Digits > maxDigits {
		return nil, fmt.Errorf("it has %d significant digits; up to %d are read", header.Digits, maxDigits)
	}
	h, err := hdrhistogram.Decode([]byte(encoded))
	if err != nil {
		return nil, err
	}
	if h.TotalCount() > maxCount {
		return nil, fmt.Errorf("it holds %d values; up to %d are read", h.TotalCount(), maxCount)
	}
	return h, nil
}
