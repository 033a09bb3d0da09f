package trust

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"dyno/services/ledger/signing"
	"dyno/services/ledger/xrpl"
)

// ErrConflict reports two ledgers of the same index that each have a quorum: the list cannot be
// trusted, or the network has forked. This package chooses neither.
var ErrConflict = errors.New("quorums for two different ledgers")

// Anchor is a ledger that a quorum of validators agreed on.
type Anchor struct {
	Index uint32
	Hash  xrpl.Hash
	Votes int // validators that validated it
	Of    int // validators in the list
}

// String is a sentence for people.
func (a Anchor) String() string {
	return fmt.Sprintf("ledger %d is %v by %d of %d validators", a.Index, a.Hash, a.Votes, a.Of)
}

// maxVotes bounds the votes kept per validator, and the quorums: at one ledger every 4 s, those of
// a quarter of an hour. The validators of a network differ by a few seconds.
const maxVotes = 256

// Quorum counts validations of the validators of a list until at least 80% of them agree on a
// ledger. Only one goroutine at a time may use it.
type Quorum struct {
	unl     *ValidatorList
	now     func() time.Time // time.Now, except in tests
	of      int
	members map[string]*member // by master key
	signing map[string]*member // by the key that signs validations
	votes   map[vote]map[*member]bool
	reached map[uint32]Anchor
	broken  error
}

type member struct {
	master   string
	sequence uint32 // of its newest manifest; zero: none
	key      string // its signing key; empty: revoked
	votes    []vote // kept votes, the oldest first
}

type vote struct {
	index uint32
	hash  xrpl.Hash
}

// NewQuorum starts without votes. It fails if a validator's manifest in the list is invalid.
func NewQuorum(u *ValidatorList) (*Quorum, error) {
	q := &Quorum{unl: u, now: time.Now, of: len(u.Validators), members: map[string]*member{}, signing: map[string]*member{},
		votes: map[vote]map[*member]bool{}, reached: map[uint32]Anchor{}}
	if q.of == 0 {
		return nil, errors.New("a list without validators has no quorum")
	}
	for _, v := range u.Validators {
		m := &member{master: string(v.Key), key: string(v.Key)} // until a manifest names another one
		q.members[m.master], q.signing[m.key] = m, m
	}
	for _, v := range u.Validators {
		if len(v.Manifest) == 0 {
			continue
		}
		if known, err := q.Manifest(v.Manifest); err != nil || !known {
			return nil, fmt.Errorf("validator %s: its manifest is invalid or another validator's: %w", xrpl.FormatNodeKey(v.Key), cmp.Or(err, xrpl.ErrMalformed))
		}
	}
	return q, nil
}

// Needed is the number of validators in a quorum: 80% of the list, rounded up.
func (q *Quorum) Needed() int { return (4*q.of + 4) / 5 }

// Manifest reads a manifest, which names a validator's signing key. Manifests of validators that
// are not in the list, and those not newer than the known one, change nothing; known says whether
// the validator is in the list.
func (q *Quorum) Manifest(b []byte) (known bool, err error) {
	m, err := signing.ParseManifest(b)
	if err != nil {
		return false, err
	}
	is, known := q.members[string(m.Master)]
	if !known || m.Sequence <= is.sequence && is.sequence > 0 {
		return known, nil
	}
	if holder, taken := q.signing[string(m.Key)]; taken && holder != is {
		return true, fmt.Errorf("manifest of %s: it names the key of %s", xrpl.FormatNodeKey(m.Master), xrpl.FormatNodeKey([]byte(holder.master)))
	}
	delete(q.signing, is.key)
	is.sequence, is.key = m.Sequence, string(m.Key)
	if !m.Revoked() {
		q.signing[is.key] = is
	}
	return true, nil
}

// Final says whether an error of Add is permanent: no later validation can give a quorum.
func Final(err error) bool { return errors.Is(err, ErrConflict) || errors.Is(err, ErrListExpired) }

// Add counts a signed validation. It returns the anchor if its ledger has a quorum now or had one
// before. A validation that is not signed, not full, or from a validator outside the list does not
// count. The error is only for wrong bytes, for ErrConflict, which every later call returns too,
// and for ErrListExpired: the list may have expired since it was read.
func (q *Quorum) Add(validation []byte) (anchor Anchor, reached bool, err error) {
	if q.broken != nil {
		return Anchor{}, false, q.broken
	}
	if err := q.unl.expired(q.now()); err != nil {
		return Anchor{}, false, err
	}
	v, err := signing.ParseValidation(validation)
	if err != nil {
		return Anchor{}, false, err
	}
	by, ours := q.signing[string(v.Key)]
	if !ours || !v.Full || v.Index == 0 {
		return Anchor{}, false, nil
	}
	votes := q.count(vote{v.Index, v.Ledger}, by)
	if votes < q.Needed() {
		return Anchor{}, false, nil
	}
	anchor = Anchor{v.Index, v.Ledger, votes, q.of}
	if before, ok := q.reached[v.Index]; ok && before.Hash != v.Ledger {
		q.broken = fmt.Errorf("%w: %v, and %v", ErrConflict, before, anchor)
		return Anchor{}, false, q.broken
	}
	q.reached[v.Index] = anchor
	if len(q.reached) > maxVotes {
		delete(q.reached, slices.Min(slices.Collect(maps.Keys(q.reached))))
	}
	return anchor, true, nil
}

// count counts a vote, each validator's once, and returns the number of votes for it. A validator
// that votes for several ledgers of an index counts for each, so that two quorums are detected.
func (q *Quorum) count(v vote, by *member) int {
	if q.votes[v] == nil {
		q.votes[v] = map[*member]bool{}
	}
	if !q.votes[v][by] {
		q.votes[v][by] = true
		by.votes = append(by.votes, v)
	}
	if len(by.votes) > maxVotes {
		oldest := by.votes[0]
		by.votes = slices.Delete(by.votes, 0, 1)
		if delete(q.votes[oldest], by); len(q.votes[oldest]) == 0 {
			delete(q.votes, oldest)
		}
	}
	return len(q.votes[v])
}

// Best is the ledger with the most votes, the highest of those, to report progress.
func (q *Quorum) Best() (best Anchor) {
	best.Of = q.of
	for v, voters := range q.votes {
		if n := len(voters); n > best.Votes || n == best.Votes && v.index > best.Index {
			best = Anchor{v.index, v.hash, n, q.of}
		}
	}
	return best
}
