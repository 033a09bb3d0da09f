package cache

import (
	"encoding/binary"
	"sort"

	"github.com/bits-and-blooms/bloom/v3"
)

const (
	falsePositives = 0.01    // share of the nonexistent uids that are passed on
	segmentRows    = 1 << 18 // uids in one segment: 314 KB, which an extension copies
)

// segmentBytes is the memory of a segment's bits.
var segmentBytes = int(bloom.NewWithEstimates(segmentRows, falsePositives).Cap() / 8)

// known is the approximate set of existing uids up to a watermark, as a list of Bloom filters. It
// is immutable: a longer set shares all but its last segment, and readers never wait.
type known struct {
	watermark int64 // uids above it are undecided
	segments  []segment
	rows      int
}

// segment holds the uids from first up to the next segment.
type segment struct {
	first int64
	rows  int
	bits  *bloom.BloomFilter
}

// lacks reports whether the uid certainly does not exist. It is false above the watermark.
func (k *known) lacks(uid int64) bool {
	if uid <= 0 || uid > k.watermark {
		return false
	}
	after := sort.Search(len(k.segments), func(i int) bool { return k.segments[i].first > uid })
	if after == 0 {
		return true
	}
	return !k.segments[after-1].bits.Test(key(uid))
}

// extend returns the set with more, ascending uids and a new watermark at or above the last.
func (k *known) extend(uids []int64, watermark int64) *known {
	longer := &known{watermark: watermark, segments: append([]segment(nil), k.segments...), rows: k.rows + len(uids)}
	if n := len(longer.segments); n > 0 && len(uids) > 0 {
		last := &longer.segments[n-1]
		last.bits = last.bits.Copy() // readers use the old one
	}
	for _, uid := range uids {
		n := len(longer.segments)
		if n == 0 || longer.segments[n-1].rows == segmentRows {
			longer.segments = append(longer.segments, segment{first: uid, bits: bloom.NewWithEstimates(segmentRows, falsePositives)})
			n++
		}
		last := &longer.segments[n-1]
		last.bits.Add(key(uid))
		last.rows++
	}
	return longer
}

func (k *known) bytes() int { return len(k.segments) * segmentBytes }

func key(uid int64) []byte {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(uid))
	return b[:]
}
