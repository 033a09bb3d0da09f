package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/nats-io/nats.go"
	"golang.org/x/time/rate"

	"dyno/services/arena/match"
)

// Lobby is the topic of players that are in no room.
const Lobby = "lobby"

// Bounds of chat.
const (
	MaxText    = 256  // bytes of a message
	perNode    = 100  // messages/s of all players of a node
	perPlayer  = 1    // messages/s of one, on average
	burst      = 5    // messages of one in a row
	maxTalkers = 1000 // players whose rate is kept
)

// ErrRate means that a player, or all of this node together, say more than they may.
var ErrRate = errors.New("too many chat messages: wait a second")

// Message is what a player says.
type Message struct {
	Topic  string `json:"topic"`
	From   string `json:"from"`
	Text   string `json:"text"`
	TimeMS int64  `json:"time_ms"` // Unix time, ms, by the clock of the player's node; Say fills it in
}

func (m Message) check() error {
	switch {
	case !identifier.MatchString(m.Topic):
		return fmt.Errorf("no such topic: %.64q", m.Topic)
	case m.From == "" || len(m.From) > match.MaxName || m.Text == "" || len(m.Text) > MaxText:
		return fmt.Errorf("a message has 1 to %d bytes, and its player a name of at most %d", MaxText, match.MaxName)
	case !utf8.ValidString(m.From+m.Text) || strings.ContainsFunc(m.From+m.Text, unicode.IsControl):
		return errors.New("a message is one line of text in UTF-8")
	}
	return nil
}

// Say sends a message to those that listen to its topic, on all nodes. The caller has checked that
// the player is who the message says.
func (f *Fleet) Say(m Message) error {
	if err := m.check(); err != nil {
		return err
	}
	if !f.rate.allow(m.From) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.stats.Dropped++
		return ErrRate
	}
	m.TimeMS = time.Now().UnixMilli()
	f.publish(chat+m.Topic, m)
	return nil
}

// Listen calls hear with each message of a topic, one after the other. A hear that is slow loses
// messages. After stop, the one that is being heard may still end.
func (f *Fleet) Listen(topic string, hear func(Message)) (stop func(), err error) {
	if !identifier.MatchString(topic) {
		return nil, fmt.Errorf("no such topic: %.64q", topic)
	}
	s, err := f.subscribe(chat+topic, func(raw *nats.Msg) {
		m, err := decodeMessage(raw.Data)
		if err != nil || m.Topic != topic {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.malformed(fmt.Errorf("a chat message of %s: %w", topic, err))
			return
		}
		hear(m)
	})
	if err != nil {
		return nil, err
	}
	return func() { _ = s.Unsubscribe() }, nil // it fails after Close only
}

func decodeMessage(body []byte) (m Message, err error) {
	if err := json.Unmarshal(body, &m); err != nil {
		return m, err
	}
	return m, m.check()
}

// chatRate bounds what the players of this node say.
type chatRate struct {
	all *rate.Limiter

	mu      sync.Mutex
	talkers map[string]*rate.Limiter
}

func newChatRate() chatRate {
	return chatRate{all: rate.NewLimiter(perNode, perNode), talkers: map[string]*rate.Limiter{}}
}

func (c *chatRate) allow(player string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := c.talkers[player]
	if own == nil {
		if len(c.talkers) >= maxTalkers {
			clear(c.talkers) // rarely, and it gives each of them one burst
		}
		own = rate.NewLimiter(perPlayer, burst)
		c.talkers[player] = own
	}
	return own.Allow() && c.all.Allow()
}
