package windows

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// maxDigits bounds a histogram's memory: with up to three significant digits it takes at most 440
// kB, whatever its range.
const maxDigits = 3

// histogram is a histogram in a line: encoded or, from a command that does not have the library,
// as single values.
type histogram struct {
	encoded string
	values  []int64 // ns
}

// MarshalJSON writes the encoded form.
func (h histogram) MarshalJSON() ([]byte, error) { return json.Marshal(h.encoded) }

// UnmarshalJSON reads either form.
func (h *histogram) UnmarshalJSON(text []byte) error {
	if text[0] == '[' {
		return json.Unmarshal(text, &h.values)
	}
	return json.Unmarshal(text, &h.encoded)
}

func (h histogram) decode() (*hdrhistogram.Histogram, error) {
	if h.values == nil {
		return decode(h.encoded)
	}
	out := hdrhistogram.New(1, int64(time.Hour), maxDigits)
	for _, v := range h.values {
		if v < 0 || v > int64(time.Hour) {
			return nil, fmt.Errorf("%d is not between 0 and an hour in ns", v)
		}
		if err := out.RecordValue(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// decode decodes a histogram. The library allocates whatever size the header asks for, even 50
// MB, so decode checks the header first.
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
