package trust

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"dyno/services/ledger/signing"
	"dyno/services/ledger/xrpl"
)

// published is a list in its published form. Source: xrpl.org/peer-port-methods, "Validator List
// Method", and XLS-45 for version 2, which has several blobs, each for its own period: the next
// list is published before it takes effect.
type published struct {
	Key      string   `json:"public_key"`
	Manifest string   `json:"manifest"`
	Blob     string   `json:"blob"`
	Sign     string   `json:"signature"`
	Blobs    []signed `json:"blobs_v2"`
}

type signed struct {
	Manifest string `json:"manifest"` // replaces the list's, if present
	Blob     string `json:"blob"`
	Sign     string `json:"signature"`
}

const maxBlobs = 5

// parsePublished returns the list that is in force: of those whose period includes now, the one
// with the highest sequence. A blob with a wrong signature, even one for another period,
// invalidates all.
func parsePublished(data []byte, publisherKey string, now time.Time) (*ValidatorList, error) {
	var file published
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("not a published list: %w", err)
	}
	p, err := file.publisher(publisherKey)
	if err != nil {
		return nil, err
	}
	if file.Blob != "" {
		file.Blobs = append([]signed{{Blob: file.Blob, Sign: file.Sign}}, file.Blobs...)
	}
	if n := len(file.Blobs); n == 0 || n > maxBlobs {
		return nil, fmt.Errorf("it has %d blobs, not 1 to %d", n, maxBlobs)
	}
	var lists []*ValidatorList
	for i, s := range file.Blobs {
		if s.Manifest == "" {
			s.Manifest = file.Manifest
		}
		u, err := p.open(s)
		if err != nil {
			return nil, fmt.Errorf("blob %d of %d: %w", i+1, len(file.Blobs), err)
		}
		lists = append(lists, u)
	}
	return inForce(lists, now)
}

// inForce chooses the list in force, or returns why the newest is not. lists has at least one.
func inForce(lists []*ValidatorList, now time.Time) (*ValidatorList, error) {
	var best, newest, next *ValidatorList
	for _, u := range lists {
		switch {
		case u.Effective.After(now):
			if next == nil || u.Effective.Before(next.Effective) {
				next = u
			}
		case u.expired(now) != nil:
			if newest == nil || u.Expires.After(newest.Expires) {
				newest = u
			}
		case best == nil || u.Sequence > best.Sequence:
			best = u
		}
	}
	switch {
	case best != nil:
		return best, nil
	case newest != nil:
		return nil, newest.expired(now)
	}
	return nil, fmt.Errorf("list %d of publisher %X takes effect at %s, and it is %s now: check the clock of this machine, or fetch the list in force",
		next.Sequence, next.Publisher, next.Effective.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
}

type publisher struct {
	master []byte
	newest signing.Manifest // the newest so far, in the order of the blobs
}

// publisher returns the file's publisher, which must have the given key, unless that is "".
func (p *published) publisher(key string) (*publisher, error) {
	if key == "" {
		key = p.Key
	}
	master, err := hex.DecodeString(key)
	if err != nil {
		return nil, fmt.Errorf("the publisher's key %.80q is not hex", key)
	}
	if named, err := hex.DecodeString(p.Key); err != nil || !bytes.Equal(named, master) {
		return nil, fmt.Errorf("its publisher is %.80s, not %X", p.Key, master)
	}
	return &publisher{master: master}, nil
}

// show reads a manifest, which names the publisher's signing key. An older manifest does not
// restore an older key.
func (p *publisher) show(text string) error {
	manifest, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return fmt.Errorf("the publisher's manifest is not base64: %w", err)
	}
	m, err := signing.ParseManifest(manifest)
	if err != nil {
		return fmt.Errorf("the publisher's %w", err)
	}
	if !bytes.Equal(m.Master, p.master) {
		return fmt.Errorf("the publisher's manifest is of %X, not %X", m.Master, p.master)
	}
	if m.Revoked() {
		return errors.New("the publisher's key is revoked: get a newer list, and the publisher's new key")
	}
	if p.newest.Key == nil || m.Sequence > p.newest.Sequence {
		p.newest = m
	}
	return nil
}

func (p *publisher) open(s signed) (*ValidatorList, error) {
	if err := p.show(s.Manifest); err != nil {
		return nil, err
	}
	blob, err := base64.StdEncoding.DecodeString(s.Blob)
	if err != nil {
		return nil, fmt.Errorf("it is not base64: %w", err)
	}
	signature, err := hex.DecodeString(s.Sign)
	if err != nil || !(signing.Pure{}).Check(p.newest.Key, blob, signature) {
		return nil, fmt.Errorf("it is not signed by its publisher %X: %w", p.master, signing.ErrSignature)
	}
	u, err := parseBlob(blob)
	if err != nil {
		return nil, err
	}
	u.Publisher = p.master
	return u, nil
}

func parseBlob(blob []byte) (*ValidatorList, error) {
	var list struct {
		Sequence   uint32 `json:"sequence"`
		Effective  uint32 `json:"effective"`  // ledger time; 0 if missing
		Expiration uint32 `json:"expiration"` // ledger time; 0 if missing
		Validators []struct {
			Key      string `json:"validation_public_key"`
			Manifest string `json:"manifest"`
		} `json:"validators"`
	}
	if err := json.Unmarshal(blob, &list); err != nil {
		return nil, fmt.Errorf("it is no list of validators: %w", err)
	}
	if list.Expiration <= list.Effective {
		return nil, fmt.Errorf("it is in force from second %d to second %d since 2000, which is never", list.Effective, list.Expiration)
	}
	u := &ValidatorList{Sequence: list.Sequence, Expires: xrpl.Time(list.Expiration)}
	if list.Effective > 0 {
		u.Effective = xrpl.Time(list.Effective)
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
