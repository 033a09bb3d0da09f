package folder

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// intervalLog writes the lines of an HdrHistogram log (format 1.3, V2 encoding) and reuses its
// buffers from line to line. The library's own writer makes a compressor for every line, which
// took a tenth of a load generator's CPU time; its reader reads both.
type intervalLog struct {
	to       io.Writer
	deflate  *zlib.Writer
	payload  []byte       // uncompressed: header and counts
	squeezed bytes.Buffer // the payload, compressed
	line     []byte
}

func newIntervalLog(to io.Writer) *intervalLog {
	// The fastest level: a window's counts compress to a few hundred bytes whatever the level.
	deflate, _ := zlib.NewWriterLevel(io.Discard, zlib.BestSpeed) // fails only for an unknown level
	return &intervalLog{to: to, deflate: deflate}
}

// write appends one line: a window's histogram of nanoseconds.
func (l *intervalLog) write(tag string, startMs, lengthMs int64, h *hdrhistogram.Histogram) error {
	if err := l.encode(h); err != nil {
		return err
	}
	const decimals = 3
	b := append(l.line[:0], "Tag="...)
	b = append(b, tag...)
	b = append(b, ',')
	b = strconv.AppendFloat(b, float64(startMs)/1000, 'f', decimals, 64)
	b = append(b, ',')
	b = strconv.AppendFloat(b, float64(lengthMs)/1000, 'f', decimals, 64)
	b = append(b, ',')
	b = strconv.AppendFloat(b, float64(h.ValueAtPercentile(100))/hdrhistogram.MsToNsRatio, 'f', decimals, 64)
	b = append(b, ',')
	b = base64.StdEncoding.AppendEncode(b, l.squeezed.Bytes())
	l.line = append(b, '\n')
	_, err := l.to.Write(l.line)
	return err
}

// cookieFlag marks a V2 encoding whose counts are variable-length integers.
const cookieFlag = 0x10

// encode fills squeezed with the V2 compressed encoding.
func (l *intervalLog) encode(h *hdrhistogram.Histogram) error {
	s := h.Export()
	const conversionRatio = 1.0
	b := binary.BigEndian.AppendUint32(l.payload[:0], uint32(hdrhistogram.V2EncodingCookieBase|cookieFlag))
	b = binary.BigEndian.AppendUint32(b, 0) // length of the counts, filled in below
	b = binary.BigEndian.AppendUint32(b, 0) // the normalizing index offset, which is unused
	b = binary.BigEndian.AppendUint32(b, uint32(s.SignificantFigures))
	b = binary.BigEndian.AppendUint64(b, uint64(s.LowestTrackableValue))
	b = binary.BigEndian.AppendUint64(b, uint64(s.HighestTrackableValue))
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(conversionRatio))
	header := len(b)
	b = appendCounts(b, s.Counts)
	binary.BigEndian.PutUint32(b[4:], uint32(len(b)-header))
	l.payload = b

	l.squeezed.Reset()
	l.squeezed.Write(make([]byte, 8)) // cookie and length, filled in below
	l.deflate.Reset(&l.squeezed)
	if _, err := l.deflate.Write(b); err != nil {
		return fmt.Errorf("compressing a histogram: %w", err)
	}
	if err := l.deflate.Close(); err != nil {
		return fmt.Errorf("compressing a histogram: %w", err)
	}
	out := l.squeezed.Bytes()
	binary.BigEndian.PutUint32(out, uint32(hdrhistogram.V2CompressedEncodingCookieBase|cookieFlag))
	binary.BigEndian.PutUint32(out[4:], uint32(len(out)-8))
	return nil
}

// appendCounts writes counts as zigzag variable-length integers, a run of zeros as its negative
// length. The format keeps 8 bits in a ninth byte where Go's varints keep 7; no window has 2^55
// requests.
func appendCounts(b []byte, counts []int64) []byte {
	last := len(counts)
	for last > 0 && counts[last-1] == 0 {
		last--
	}
	if last == 0 {
		return append(b, 0) // an empty histogram has one count
	}
	for i := 0; i < last; {
		from := i
		for counts[i] == 0 {
			i++
		}
		switch zeros := i - from; zeros {
		case 0:
		case 1:
			b = binary.AppendVarint(b, 0)
		default:
			b = binary.AppendVarint(b, -int64(zeros))
		}
		b = binary.AppendVarint(b, counts[i])
		i++
	}
	return b
}
