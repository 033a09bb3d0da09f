package apikey

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Bounds of a file. Every request is compared with every key, at some 10 ns each.
const (
	maxKeys  = 1000
	maxBytes = 256 << 10 // a thousand lines with a comment each
	maxName  = 64        // bytes
)

// entry is one line of the file.
type entry struct {
	name string
	hash [sha256.Size]byte // of the key
}

// String is the line as it stands in the file.
func (e entry) String() string { return e.name + " " + hashPrefix + hex.EncodeToString(e.hash[:]) }

const hashPrefix = "sha256:"

// parse reads the text of a file. A line with a mistake decides about no other: it is skipped, and
// mistakes say why. They name path and line, and never repeat the line, which may be a key that a
// person entered instead of its hash.
func parse(path string, text []byte) (entries []entry, mistakes []error) {
	names, hashes := map[string]int{}, map[[sha256.Size]byte]int{} // the lines of both
	number := 0
	for line := range bytes.Lines(text) {
		number++
		line, _, _ = bytes.Cut(line, []byte("#"))
		words := strings.Fields(string(line))
		if len(words) == 0 {
			continue
		}
		e, err := parseWords(words)
		switch {
		case err != nil:
		case names[e.name] > 0:
			err = fmt.Errorf("the name %s is taken by line %d; to have two keys while changing one, call the new one %[1]s-2", e.name, names[e.name])
		case hashes[e.hash] > 0:
			err = fmt.Errorf("line %d has the same key", hashes[e.hash])
		case len(entries) == maxKeys:
			err = fmt.Errorf("more than %d keys", maxKeys)
		}
		if err != nil {
			mistakes = append(mistakes, fmt.Errorf("%s:%d: %w", path, number, err))
			continue
		}
		names[e.name], hashes[e.hash] = number, number
		entries = append(entries, e)
	}
	return entries, mistakes
}

func parseWords(words []string) (e entry, err error) {
	if len(words) != 2 {
		return e, fmt.Errorf("%d words where NAME sha256:HEX should stand; notifyd apikey NAME prints such a line", len(words))
	}
	if err := checkName(words[0]); err != nil {
		return e, err
	}
	digits, ok := strings.CutPrefix(words[1], hashPrefix)
	hash, err := hex.DecodeString(digits)
	if !ok || err != nil || len(hash) != sha256.Size {
		return e, fmt.Errorf("the second word is not sha256: and %d hexadecimal digits; notifyd apikey NAME prints a line with a new key's", 2*sha256.Size)
	}
	e.name = words[0]
	copy(e.hash[:], hash)
	return e, nil
}

func checkName(name string) error {
	for _, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
			return errors.New("a name is made of letters, digits, '-', '_' and '.'")
		}
	}
	if name == "" || len(name) > maxName {
		return fmt.Errorf("a name has 1 to %d characters", maxName)
	}
	return nil
}
