// Package layout finds struct fields that make cores wait for one another's caches, and memory that
// padding wastes. A cache line is the unit in which cores take data from each other: a line that one core
// writes is lost to all others, whichever of its fields they wanted (false sharing).
//
// It reads source, so it knows what may be written from several goroutines (locks, atomics, counters) and
// by which functions, but neither how often nor from how many cores. What it lists are candidates: only a
// measurement shows whether one costs anything. It takes each struct to begin on a cache line, which the
// allocator grants only to sizes that are multiples of one.
//
// It is not a linter: it has no opinion on structs that nobody contends for. It starts the go command
// (through go/packages) and waits for it, and starts no goroutines of its own.
package layout

// Kind says what shares a line.
type Kind string

// Kinds, the likeliest to cost something first.
const (
	Neighbours Kind = "neighbours" // elements of one array that are written apart lie on one line
	Writers    Kind = "writers"    // fields of one struct that different functions write
	Readers    Kind = "readers"    // fields that are only read lie beside one that is written
)

// Use is what is done with a field.
type Use string

// Uses.
const (
	Lock    Use = "lock"    // sync.Mutex, sync.RWMutex
	Atomic  Use = "atomic"  // written through sync/atomic
	Counter Use = "counter" // counted up without a lock
	Read    Use = "read"    // read, and written only where the struct is made
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

// Sharing is a line that is shared.
type Sharing struct {
	Kind      Kind    `json:"kind"`
	Struct    string  `json:"struct"` // with its package's name
	File      string  `json:"file"`
	Line      int     `json:"line"`
	Size      int64   `json:"size"`       // bytes; of Neighbours: of an element
	CacheLine int64   `json:"cache_line"` // which of the struct's lines, from 0
	Fields    []Field `json:"fields"`
	Advice    string  `json:"advice"`
	Generic   bool    `json:"generic,omitempty"` // the layout depends on type arguments; one word was taken for each
}

// Padding is a struct that would be smaller in another order.
type Padding struct {
	Struct  string   `json:"struct"`
	File    string   `json:"file"`
	Line    int      `json:"line"`
	Size    int64    `json:"size"`  // bytes
	Best    int64    `json:"best"`  // bytes, in the order below
	Order   []string `json:"order"` // fields
	Generic bool     `json:"generic,omitempty"`
}

// Waste is how many bytes another order saves.
func (p Padding) Waste() int64 { return p.Size - p.Best }

// Report is what was found.
type Report struct {
	GOOS      string    `json:"goos"`
	GOARCH    string    `json:"goarch"`
	LineBytes int64     `json:"line_bytes"`
	Structs   int       `json:"structs"` // looked at
	Sharing   []Sharing `json:"sharing"` // likeliest to cost something first
	Padding   []Padding `json:"padding"` // most waste first; every struct that has any
}

// lineBytes is the length of a cache line: what the Go runtime itself assumes (internal/cpu), but for arm64
// beyond Apple's cores, whose lines have 64 bytes.
func lineBytes(goos, goarch string) int64 {
	switch {
	case goarch == "arm64" && (goos == "darwin" || goos == "ios"), goarch == "ppc64", goarch == "ppc64le":
		return 128
	case goarch == "s390x":
		return 256
	}
	return 64
}
