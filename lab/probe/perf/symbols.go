package perf

import (
	"bytes"
	"debug/elf"
	"debug/gosym"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// symbols maps addresses of a running Go program to functions.
type symbols struct {
	table *gosym.Table
	bias  uint64 // load address minus link address
}

// openSymbols reads the function table of the binary of a process.
func openSymbols(pid int) (*symbols, error) {
	proc := "/proc/" + strconv.Itoa(pid)
	f, err := elf.Open(proc + "/exe")
	if err != nil {
		return nil, fmt.Errorf("reading its binary: %w", err)
	}
	defer f.Close()
	text, functions := f.Section(".text"), f.Section(".gopclntab")
	if functions == nil {
		functions = f.Section(".data.rel.ro.gopclntab") // its name in a position-independent executable
	}
	if text == nil || functions == nil {
		return nil, errors.New("its binary holds no Go function table: is it a Go program?")
	}
	data, err := functions.Data()
	if err != nil {
		return nil, fmt.Errorf("reading its function table: %w", err)
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, textStart(f, text.Addr)))
	if err != nil {
		return nil, fmt.Errorf("its function table cannot be read: %w", err)
	}
	s := &symbols{table: table}
	if f.Type == elf.ET_DYN {
		maps, err := os.ReadFile(proc + "/maps")
		if err != nil {
			return nil, err
		}
		exe, err := os.Readlink(proc + "/exe")
		if err != nil {
			return nil, err
		}
		s.bias = loadedAt(maps, exe)
	}
	return s, nil
}

// textStart returns the address at which the Go code starts: with cgo, C code precedes it in the
// same section.
func textStart(f *elf.File, section uint64) uint64 {
	all, err := f.Symbols()
	if err != nil {
		return section // stripped
	}
	for _, s := range all {
		if s.Name == "runtime.text" {
			return s.Value
		}
	}
	return section
}

// loadedAt returns the address of a file's first mapping; 0: it is not mapped.
func loadedAt(maps []byte, file string) uint64 {
	for line := range bytes.Lines(maps) {
		fields := strings.Fields(string(line))
		if len(fields) < 6 || fields[5] != file || fields[2] != "00000000" {
			continue
		}
		from, _, _ := strings.Cut(fields[0], "-")
		if at, err := strconv.ParseUint(from, 16, 64); err == nil {
			return at
		}
	}
	return 0
}

// at returns the function that contains an address, and the function's first line. The line of the
// address itself may belong to an inlined function in another file. ok is false if the address is
// not in Go code of the program.
func (s *symbols) at(pc uint64) (function, file string, line int, ok bool) {
	f := s.table.PCToFunc(pc - s.bias)
	if f == nil {
		return "", "", 0, false
	}
	file, line, _ = s.table.PCToLine(f.Entry)
	return f.Name, file, line, true
}
