package trust

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"dyno/parts/xrpl"
)

// UNL is a list of validators that are trusted together: not one by one, but so that most of them do not collude.
type UNL struct {
	Publisher  []byte    // master key of who published the list; nil where it is the user's own
	Sequence   uint32    // of the list
	Expires    time.Time // zero: never
	Validators []Validator
}

// Validator is a validator as a list names it.
type Validator struct {
	Key      []byte // its master key, or the one that it signs with where it has but one
	Manifest []byte // which names the key that it signs with; nil where the list has none
}

const (
	maxUNL        = 4 << 20 // bytes of a file. The lists of today have some 30 KB
	maxValidators = 1000    // the lists of today have 35
)

// LoadUNL reads the validators that are trusted from a file: the JSON that a publisher has on the web (as
// https://vl.ripple.com), or a text with one public key (n...) a line, where # begins a comment. A published list has
// to be signed, and by this publisher: its master key in hex, or "" for whomever the list itself names, so that whoever
// wrote the file is believed.
func LoadUNL(file, publisher string) (*UNL, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("list of validators: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxUNL+1))
	if err != nil {
		return nil, fmt.Errorf("list of validators: %w", err)
	}
	u, err := ParseUNL(data, publisher)
	if err != nil {
		return nil, fmt.Errorf("list of validators %s: %w", file, err)
	}
	return u, nil
}

// ParseUNL is LoadUNL of what is in the file.
func ParseUNL(data []byte, publisher string) (u *UNL, err error) {
	data = bytes.TrimSpace(data)
	switch {
	case len(data) > maxUNL:
		return nil, fmt.Errorf("it is larger than %d MiB", maxUNL>>20)
	case len(data) > 0 && data[0] == '{':
		u, err = parsePublished(data, publisher)
	case publisher != "":
		return nil, errors.New("it is no published list, so it has no publisher's signature: leave the publisher's key away")
	default:
		u, err = parseKeys(data)
	}
	if err != nil {
		return nil, err
	}
	if n := len(u.Validators); n == 0 || n > maxValidators {
		return nil, fmt.Errorf("it has %d validators, not 1 to %d", n, maxValidators)
	}
	seen := map[string]bool{}
	for _, v := range u.Validators {
		if seen[string(v.Key)] {
			return nil, fmt.Errorf("validator %s is in it twice", xrpl.FormatNodeKey(v.Key))
		}
		seen[string(v.Key)] = true
	}
	return u, nil
}

func parseKeys(data []byte) (*UNL, error) {
	u := &UNL{}
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		key, err := xrpl.ParseNodeKey(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		u.Validators = append(u.Validators, Validator{Key: key})
	}
	return u, nil
}

// published is a list as it is on the web. Source: xrpl.org/peer-port-methods, "Validator List Method". Version 2 has
// several blobs, of which the first that holds is the present one.
type published struct {
	Key      string   `json:"public_key"`
	Manifest string   `json:"manifest"`
	Blob     string   `json:"blob"`
	Sign     string   `json:"signature"`
	Blobs    []signed `json:"blobs_v2"`
}

type signed struct {
	Manifest string `json:"manifest"` // instead of the list's, if any
	Blob     string `json:"blob"`
	Sign     string `json:"signature"`
}

func parsePublished(data []byte, publisher string) (*UNL, error) {
	var p published
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("it is no published list: %w", err)
	}
	if publisher == "" {
		publisher = p.Key
	}
	master, err := hex.DecodeString(publisher)
	if err != nil {
		return nil, fmt.Errorf("the publisher's key %.80q is not hex", publisher)
	}
	if named, err := hex.DecodeString(p.Key); err != nil || !bytes.Equal(named, master) {
		return nil, fmt.Errorf("its publisher is %.80s, not %X", p.Key, master)
	}
	if p.Blob != "" {
		p.Blobs = append([]signed{{Blob: p.Blob, Sign: p.Sign}}, p.Blobs...)
	}
	if len(p.Blobs) == 0 {
		return nil, errors.New("it has no blob")
	}
	s := p.Blobs[0]
	if s.Manifest == "" {
		s.Manifest = p.Manifest
	}
	blob, err := s.open(master)
	if err != nil {
		return nil, err
	}
	u, err := parseBlob(blob)
	if err != nil {
		return nil, err
	}
	u.Publisher = master
	return u, nil
}

// open checks who signed a blob and gives its bytes.
func (s *signed) open(master []byte) ([]byte, error) {
	manifest, err := base64.StdEncoding.DecodeString(s.Manifest)
	if err != nil {
		return nil, fmt.Errorf("the publisher's manifest is not base64: %w", err)
	}
	m, err := xrpl.ParseManifest(manifest)
	if err != nil {
		return nil, fmt.Errorf("the publisher's %w", err)
	}
	if !bytes.Equal(m.Master, master) {
		return nil, fmt.Errorf("the publisher's manifest is of %X, not %X", m.Master, master)
	}
	if m.Revoked() {
		return nil, errors.New("the publisher's key is revoked: get a newer list, and the publisher's new key")
	}
	blob, err := base64.StdEncoding.DecodeString(s.Blob)
	if err != nil {
		return nil, fmt.Errorf("its blob is not base64: %w", err)
	}
	signature, err := hex.DecodeString(s.Sign)
	if err != nil || !(xrpl.Pure{}).Check(m.Key, blob, signature) {
		return nil, fmt.Errorf("it is not signed by its publisher %X: %w", master, xrpl.ErrSignature)
	}
	return blob, nil
}

// epoch is the second from which the ledger counts.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func parseBlob(blob []byte) (*UNL, error) {
	var list struct {
		Sequence   uint32 `json:"sequence"`
		Expiration uint32 `json:"expiration"` // seconds since the epoch
		Validators []struct {
			Key      string `json:"validation_public_key"`
			Manifest string `json:"manifest"`
		} `json:"validators"`
	}
	if err := json.Unmarshal(blob, &list); err != nil {
		return nil, fmt.Errorf("its blob is no list of validators: %w", err)
	}
	u := &UNL{Sequence: list.Sequence}
	if list.Expiration > 0 {
		u.Expires = epoch.Add(time.Duration(list.Expiration) * time.Second)
	}
	for i, v := range list.Validators {
		key, err := hex.DecodeString(v.Key)
		if err != nil || len(key) != nodeKeySize {
			return nil, fmt.Errorf("the key %.80q of validator %d is not %d bytes in hex", v.Key, i+1, nodeKeySize)
		}
		manifest, err := base64.StdEncoding.DecodeString(v.Manifest)
		if err != nil {
			return nil, fmt.Errorf("the manifest of validator %d is not base64: %w", i+1, err)
		}
		u.Validators = append(u.Validators, Validator{Key: key, Manifest: manifest})
	}
	return u, nil
}

const nodeKeySize = 33 // bytes of a public key
