package trust

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"dyno/parts/xrpl"
)

// ErrConflict is for two ledgers of the same index that a quorum validated each: the list cannot be trusted, or the
// network has forked. Nothing here chooses between them.
var ErrConflict = errors.New("quorums for two different ledgers")

// Anchor is a ledger that a quorum of validators agreed on.
type Anchor struct {
	Index uint32
	Hash  xrpl.Hash
	Votes int // validators that validated it
	Of    int // validators in the list
}

// String says it for people.
func (a Anchor) String() string {
	return fmt.Sprintf("ledger %d is %v by %d of %d validators", a.Index, a.Hash, a.Votes, a.Of)
}

// maxVotes bounds the votes of one validator that are kept, and the quorums: at one ledger every 4 s, those of a
// quarter of an hour. The validators of a network are a few seconds apart.
const maxVotes = 256

// Quorum counts the validations of the validators of a list until 80% of them, or more, agree on a ledger. It is for
// one goroutine at a time.
type Quorum struct {
	unl     *UNL
	now     func() time.Time // time.Now, but for tests
	of      int
	members map[string]*member // by master key
	signing map[string]*member // by the key that validations are signed with
	votes   map[vote]map[*member]bool
	reached map[uint32]Anchor
	broken  error
}

// member is a validator of the list.
type member struct {
	master   string
	sequence uint32 // of its newest manifest; zero for none
	key      string // that it signs with; empty when revoked
	votes    []vote // that are kept, the oldest first
}

type vote struct {
	index uint32
	hash  xrpl.Hash
}

// NewQuorum counts from nothing. A validator whose manifest in the list does not hold is an error.
func NewQuorum(u *UNL) (*Quorum, error) {
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
			return nil, fmt.Errorf("validator %s: its manifest is another's or broken: %w", xrpl.FormatNodeKey(v.Key), cmp.Or(err, xrpl.ErrMalformed))
		}
	}
	return q, nil
}

// Needed is how many validators make a quorum: 80% of the list, rounded up.
func (q *Quorum) Needed() int { return (4*q.of + 4) / 5 }

// Manifest takes a validator's word on which key it signs with now. Manifests of validators that are not in the list,
// and those that are not newer than the one that is known, change nothing; known says whether it is one of the list.
func (q *Quorum) Manifest(b []byte) (known bool, err error) {
	m, err := xrpl.ParseManifest(b)
	if err != nil {
		return false, err
	}
	is, known := q.members[string(m.Master)]
	if !known || m.Sequence <= is.sequence && is.sequence > 0 {
		return known, nil
	}
	if holder, taken := q.signing[string(m.Key)]; taken && holder != is {
		return true, fmt.Errorf("manifest of %s: the key that it names is that of %s", xrpl.FormatNodeKey(m.Master), xrpl.FormatNodeKey([]byte(holder.master)))
	}
	delete(q.signing, is.key)
	is.sequence, is.key = m.Sequence, string(m.Key)
	if !m.Revoked() {
		q.signing[is.key] = is
	}
	return true, nil
}

// Final says whether an error of Add is the last word: whatever is added after it, there is no quorum.
func Final(err error) bool { return errors.Is(err, ErrConflict) || errors.Is(err, ErrExpired) }

// Add counts a validation, as it was signed. It gives the anchor when its ledger has its quorum with it or had it
// before. What is not signed, not full, or of somebody who is not in the list does not count; the error is only for
// bytes that are wrong, for ErrConflict, after which it always is that, and for ErrExpired: the list that was in force
// when it was read may have expired since.
func (q *Quorum) Add(validation []byte) (anchor Anchor, reached bool, err error) {
	if q.broken != nil {
		return Anchor{}, false, q.broken
	}
	if err := q.unl.expired(q.now()); err != nil {
		return Anchor{}, false, err
	}
	v, err := xrpl.ParseValidation(validation)
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

// count counts a vote, each validator's once, and says how many there are for it. A validator that votes for several
// ledgers of an index counts for each: so that two quorums are seen, when there are.
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

// Best is the ledger with the most votes, the highest of those, for saying how far it is.
func (q *Quorum) Best() (best Anchor) {
	best.Of = q.of
	for v, voters := range q.votes {
		if n := len(voters); n > best.Votes || n == best.Votes && v.index > best.Index {
			best = Anchor{v.index, v.hash, n, q.of}
		}
	}
	return best
}
