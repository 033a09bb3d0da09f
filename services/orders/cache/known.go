package cache

import (
	"encoding/binary"
	"sort"

	"github.com/bits-and-blooms/bloom/v3"
)

const (
	falsePositives = 0.01    // of the uids that do not exist, so many are asked for
	segmentRows    = 1 << 18 // uids in one segment: 314 KB, which is what an extension copies
)

// segmentBytes is what the bits of a segment take.
var segmentBytes = int(bloom.NewWithEstimates(segmentRows, falsePositives).Cap() / 8)

// known is the set of uids up to a mark that exist, about, as a row of Bloom filters. It is never changed: a longer
// one shares all but the last segment with it. So it grows without being built anew, and nobody waits for it.
type known struct {
	mark     int64 // it says nothing of uids above
	segments []segment
	rows     int
}

// segment holds the uids from first up to the next segment's.
type segment struct {
	first int64
	rows  int
	bits  *bloom.BloomFilter
}

// lacks reports whether the uid is certainly not in the set, and not above the mark.
func (k *known) lacks(uid int64) bool {
	if uid <= 0 || uid > k.mark {
		return false
	}
	after := sort.Search(len(k.segments), func(i int) bool { return k.segments[i].first > uid })
	if after == 0 {
		return true
	}
	return !k.segments[after-1].bits.Test(key(uid))
}

// extend returns the set with more uids, which rise and lie above the mark, and a new mark at or above the last.
func (k *known) extend(uids []int64, mark int64) *known {
	longer := &known{mark: mark, segments: append([]segment(nil), k.segments...), rows: k.rows + len(uids)}
	if n := len(longer.segments); n > 0 && len(uids) > 0 {
		last := &longer.segments[n-1]
		last.bits = last.bits.Copy() // others read it
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
