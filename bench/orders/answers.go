package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"time"
)

// request is a line of ordersd feed.
type request struct{ uid, account, token string }

// readRequests reads the first line and the first of another account: one for what is one's own, one for what is not.
func readRequests(in io.Reader) ([]request, error) {
	lines := csv.NewReader(in)
	header, err := lines.Read()
	if err != nil || len(header) != 3 || header[0] != "uid" || header[1] != "account" || header[2] != "token" {
		return nil, fmt.Errorf("ordersd feed printed the columns %q, not uid, account and token", header)
	}
	var out []request
	for {
		line, err := lines.Read()
		if err == io.EOF {
			return nil, errors.New("ordersd feed printed lines of one account only: ask for more")
		}
		if err != nil {
			return nil, fmt.Errorf("ordersd feed: %w", err)
		}
		if r := (request{line[0], line[1], line[2]}); len(out) == 0 || r.account != out[0].account {
			out = append(out, r)
		}
		if len(out) == 2 {
			return out, nil
		}
	}
}

// sameAnswers returns an error unless all servers answer an order alike, and refuse what is to be refused.
func (b *bench) sameAnswers(ctx context.Context) error {
	b.pool = b.poolSizes()[0]
	var want map[string]any
	for _, side := range servers {
		got, err := b.answerOf(ctx, side)
		if err != nil {
			return fmt.Errorf("%s: %w", side, err)
		}
		if want == nil {
			want = got
		}
		if !reflect.DeepEqual(got, want) {
			return fmt.Errorf("%s answers %v where %s answers %v: they cannot be compared", side, got, ordersd, want)
		}
	}
	return nil
}

// answerOf asks a server for an order, and for what it must refuse.
func (b *bench) answerOf(ctx context.Context, side string) (answer map[string]any, err error) {
	server, err := b.start(ctx, side)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end(server)) }()
	client := &http.Client{Transport: &http.Transport{}, Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	own, other := b.tokens[0], b.tokens[1]
	for _, c := range []struct {
		uid, token string
		status     int
	}{{own.uid, "", http.StatusUnauthorized}, {own.uid, own.token + "x", http.StatusUnauthorized}, {own.uid, other.token, http.StatusNotFound}, {own.uid, own.token, http.StatusOK}} {
		answer, err = get(ctx, client, "http://"+server.Ready()["listen"]+path+c.uid, c.token, c.status)
		if err != nil {
			return nil, err
		}
	}
	if answer["account"] != own.account {
		return nil, fmt.Errorf("order %s is %v's, not %s's", own.uid, answer["account"], own.account)
	}
	return answer, nil
}

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 64 << 10

func get(ctx context.Context, client *http.Client, url, token string, status int) (answer map[string]any, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != status {
		return nil, fmt.Errorf("GET %s answered %s, want %d: %s", url, resp.Status, status, body)
	}
	return answer, json.Unmarshal(body, &answer)
}
