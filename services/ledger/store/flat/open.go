package flat

import (
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// reader opens a file for reading, unless it is open, until done. Of the others, the one that was
// asked for longest ago is closed where too many are open.
func (f *Files) reader(number uint32) (*file, vfs.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, nil, ErrClosed
	}
	one := f.list[number]
	if one == nil {
		return nil, nil, fmt.Errorf("%w: file %d of %s is missing", ErrDamaged, number, f.dir)
	}
	if one.read == nil {
		if idle := slices.IndexFunc(f.open, func(other *file) bool { return other.users == 0 }); idle >= 0 && len(f.open) >= maxOpen {
			if err := f.shut(f.open[idle]); err != nil {
				return nil, nil, err
			}
		}
		read, err := f.fs.Open(f.path(one.Name))
		if err != nil {
			return nil, nil, err
		}
		one.read = read
		f.open = append(f.open, one)
	} else if n := len(f.open) - 1; f.open[n] != one {
		i := slices.Index(f.open, one)
		copy(f.open[i:], f.open[i+1:])
		f.open[n] = one
	}
	one.users++
	return one, one.read, nil
}

func (f *Files) done(one *file) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one.users--
}

// shut closes a file for reading, if it is open. It is called with mu held.
func (f *Files) shut(one *file) error {
	if one.read == nil {
		return nil
	}
	i := slices.Index(f.open, one)
	f.open = slices.Delete(f.open, i, i+1)
	read := one.read
	one.read = nil
	return read.Close()
}
