package room

import (
	"crypto/rand"
	"slices"
	"strings"
)

// Access is what a client was let in by. It returns why the client may not be in the room any
// longer; nil: it may.
type Access func() error

// tokens are the secrets with which a client takes its body up again. Each Welcome has a new one,
// and may be lost on its way, as may the next ones: until the client shows that it has the new one,
// those before are good as well. Then they are not, also for others who have seen one.
type tokens struct {
	proven string   // the last that the client is known to have; "": none
	sent   []string // in Welcomes since then, the oldest first
}

// maxSent bounds the Welcomes in a row that are lost and may come late.
const maxSent = 8

// issue returns a new token for a Welcome.
func (t *tokens) issue(room string) string {
	token := room + "." + rand.Text()
	if len(t.sent) == maxSent {
		t.sent = slices.Delete(t.sent, 0, 1)
	}
	t.sent = append(t.sent, token)
	return token
}

// take reports whether a token is good. One of a Welcome shows that the client has it.
func (t *tokens) take(token string) bool {
	switch {
	case token == "":
		return false
	case slices.Contains(t.sent, token):
		*t = tokens{proven: token}
		return true
	}
	return token == t.proven
}

// prove notes that the client has the token of its Welcome, which is the last.
func (t *tokens) prove() {
	if n := len(t.sent); n > 0 {
		*t = tokens{proven: t.sent[n-1]}
	}
}

// Heard notes that a client has sent something after its Welcome, or knows a state of after it.
func (r *Room) Heard(c *Client) {
	if !c.unproven.Load() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c.unproven.Store(false)
	if p := c.player; p.client == c { // no other socket has its body
		p.tokens.prove()
	}
}

// Resume gives a client the body of a lost one, or of one whose socket is not known to be lost yet.
// The error is ErrResume, or that of the Access: the client's own, or the body's.
func (r *Room) Resume(c *Client, token string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.players, func(p *player) bool { return p.tokens.take(token) })
	if i < 0 {
		return ErrResume
	}
	p := r.players[i]
	if c.Access == nil {
		c.Access = p.access
	}
	if c.Access != nil {
		if err := c.Access(); err != nil {
			return err
		}
	}
	if p.client != nil {
		p.client.Kick()
	}
	p.access = c.Access
	p.begin(c)
	r.welcome(c, p)
	return nil
}

// RoomOf returns the room of a resume token.
func RoomOf(token string) string {
	room, _, _ := strings.Cut(token, ".")
	return room
}
