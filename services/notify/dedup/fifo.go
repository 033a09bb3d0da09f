package dedup

// blockLen entries are allocated together: 160 KiB, so that a window that is seldom full stays
// small, and none is ever copied.
const blockLen = 4096

// fifo is a queue of at most max entries, in the order in which they were committed. An entry keeps
// its place.
type fifo struct {
	max    int
	len    int
	head   uint32 // the place of the oldest
	blocks []*[blockLen]entry
}

// entry is an id that was committed.
type entry struct {
	key     fingerprint
	content uint64
	seq     uint64
	at      int64 // nanoseconds since 1970
}

func (f *fifo) init(max int) {
	f.max = max
	f.blocks = make([]*[blockLen]entry, (max+blockLen-1)/blockLen)
}

func (f *fifo) full() bool { return f.len > 0 && f.len >= f.max }

func (f *fifo) at(place uint32) *entry { return &f.blocks[place/blockLen][place%blockLen] }

// push adds an entry and returns its place. The fifo is not full.
func (f *fifo) push(e entry) uint32 {
	place := uint32((int(f.head) + f.len) % (len(f.blocks) * blockLen))
	if f.blocks[place/blockLen] == nil {
		f.blocks[place/blockLen] = new([blockLen]entry)
	}
	*f.at(place) = e
	f.len++
	return place
}

// pop takes the oldest entry out. There is one.
func (f *fifo) pop() entry {
	e := *f.at(f.head)
	f.head = uint32((int(f.head) + 1) % (len(f.blocks) * blockLen))
	f.len--
	return e
}
