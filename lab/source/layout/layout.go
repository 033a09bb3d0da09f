// Package layout finds struct fields with false sharing, and memory wasted by padding. A cache line
// is the unit in which cores exchange data: a core that writes one field of a line invalidates the
// whole line in the caches of all others, whichever of its fields they use.
//
// It reads source, so it knows which fields several goroutines may write (locks, atomics, counters)
// and in which functions, but not how often or from how many cores. It lists candidates: only a
// measurement shows whether one costs anything. It assumes that each struct begins on a cache line,
// which the allocator guarantees only for sizes that are multiples of one.
//
// It is not a linter: it does not report structs without contention. It starts the go command
// (through go/packages) and waits for it, and starts no goroutines of its own.
package layout

// Kind is the kind of sharing of a line.
type Kind string

// Kinds, ordered by their probable cost, the highest first.
const (
	Neighbours Kind = "neighbours" // elements of one array with independent writers are on one line
	Writers    Kind = "writers"    // fields of one struct that different functions write
	Readers    Kind = "readers"    // fields that are only read are beside one that is written
)

// Use is how functions use a field.
type Use string

// Uses.
const (
	Lock    Use = "lock"    // sync.Mutex, sync.RWMutex
	Atomic  Use = "atomic"  // written through sync/atomic
	Counter Use = "counter" // incremented without a lock
	Read    Use = "read"    // read, and written only where the struct is created
)

// Field is a field of a struct, or of a struct inside it.
type Field struct {
	Name   string   `json:"name"` // with the path to it: values.head
	Type   string   `json:"type"`
	Offset int64    `json:"offset"` // bytes
	Size   int64    `json:"size"`   // bytes
	Use    Use      `json:"use"`
	By     []string `json:"by"` // functions
}

// Sharing is a shared line.
type Sharing struct {
	Kind      Kind    `json:"kind"`
	Struct    string  `json:"struct"` // with its package's name
	File      string  `json:"file"`
	Line      int     `json:"line"`
	Size      int64   `json:"size"`       // bytes; for Neighbours, of an element
	CacheLine int64   `json:"cache_line"` // index of the line within the struct, from 0
	Fields    []Field `json:"fields"`
	Advice    string  `json:"advice"`
	// the layout depends on type arguments, each assumed to be one word
	Generic bool `json:"generic,omitempty"`
}

// Padding is a struct that would be smaller in another order.
type Padding struct {
	Struct  string   `json:"struct"`
	File    string   `json:"file"`
	Line    int      `json:"line"`
	Size    int64    `json:"size"`  // bytes
	Best    int64    `json:"best"`  // bytes, in the order given by Order
	Order   []string `json:"order"` // fields
	Generic bool     `json:"generic,omitempty"`
}

// Waste is how many bytes another order saves.
func (p Padding) Waste() int64 { return p.Size - p.Best }

// Worthwhile reports whether another order saves at least a word and a tenth of the struct: less
// changes neither the number of cache lines nor the allocator's size class of most structs.
func (p Padding) Worthwhile() bool { return p.Waste() >= 8 && 10*p.Waste() >= p.Size }

// Report is the result of Examine.
type Report struct {
	GOOS      string    `json:"goos"`
	GOARCH    string    `json:"goarch"`
	LineBytes int64     `json:"line_bytes"`
	Structs   int       `json:"structs"` // number examined
	Sharing   []Sharing `json:"sharing"` // highest probable cost first
	Padding   []Padding `json:"padding"` // most waste first; every struct with waste
}

// lineBytes is the length of a cache line: the Go runtime's assumption (internal/cpu), except for
// arm64 outside Apple's cores, whose lines have 64 bytes.
func lineBytes(goos, goarch string) int64 {
	switch {
	case goarch == "arm64" && (goos == "darwin" || goos == "ios"), goarch == "ppc64", goarch == "ppc64le":
		return 128
	case goarch == "s390x":
		return 256
	}
	return 64
}
