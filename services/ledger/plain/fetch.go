package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	// timeout of a request: a server that takes longer for a ledger of some 200 kB has a problem.
	timeout = 8 * time.Second
	// maxAnswer is far above the largest ledger there is, in bytes.
	maxAnswer = 64 << 20
)

// client asks one server.
type client struct {
	url  string
	http *http.Client
}

func newClient(url string) *client {
	return &client{url: url, http: &http.Client{Timeout: timeout, Transport: &http.Transport{}}}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// fetch asks for a ledger with its transactions. The answer is as the server gave it: nothing of it
// is proved.
func (c *client) fetch(ctx context.Context, index uint32) (l ledger, size int, err error) {
	body, err := json.Marshal(map[string]any{
		"method": "ledger",
		"params": []any{map[string]any{"ledger_index": index, "transactions": true, "expand": true, "binary": true}},
	})
	if err != nil {
		return l, 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return l, 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return l, 0, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return l, len(data), err
	case len(data) > maxAnswer:
		return l, len(data), fmt.Errorf("the answer is longer than %d MiB", maxAnswer>>20)
	case resp.StatusCode != http.StatusOK:
		return l, len(data), fmt.Errorf("the server answers %s: %.100q", resp.Status, data)
	}
	l, err = decode(data)
	return l, len(data), err
}

// decode reads an answer:
// {"result":{"ledger":{"ledger_data":..,"transactions":[{"tx_blob":..,"meta":..}]},..}}.
func decode(data []byte) (l ledger, err error) {
	var answer map[string]any
	if err := json.Unmarshal(data, &answer); err != nil {
		return l, fmt.Errorf("the answer is no JSON: %w", err)
	}
	result, ok := answer["result"].(map[string]any)
	if !ok {
		return l, errors.New("the answer has no result")
	}
	if code, failed := result["error"].(string); failed {
		return l, fmt.Errorf("the server answers %s: %v", code, result["error_message"])
	}
	if validated, _ := result["validated"].(bool); !validated {
		return l, errors.New("the answer is not of a validated ledger")
	}
	inner, ok := result["ledger"].(map[string]any)
	if !ok {
		return l, errors.New("the answer has no ledger")
	}
	if l.header, err = bytesOf(inner, "ledger_data"); err != nil {
		return l, err
	}
	list, ok := inner["transactions"].([]any)
	if !ok && inner["transactions"] != nil {
		return l, errors.New("transactions is no list")
	}
	for i, item := range list {
		tx, ok := item.(map[string]any)
		if !ok {
			return l, fmt.Errorf("transaction %d is no object; does the server know \"binary\"?", i)
		}
		meta := "meta"
		if _, v2 := tx["meta_blob"]; v2 {
			meta = "meta_blob"
		}
		var t transaction
		if t.blob, err = bytesOf(tx, "tx_blob"); err == nil {
			t.meta, err = bytesOf(tx, meta)
		}
		if err != nil {
			return l, fmt.Errorf("transaction %d: %w", i, err)
		}
		l.transactions = append(l.transactions, t)
	}
	return l, nil
}

func bytesOf(object map[string]any, key string) ([]byte, error) {
	text, ok := object[key].(string)
	if !ok {
		return nil, fmt.Errorf("there is no text called %s", key)
	}
	b, err := hex.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return b, nil
}

// encode writes a ledger as a server would answer it, in one line.
func encode(l ledger, index uint32) ([]byte, error) {
	list := []any{}
	for _, t := range l.transactions {
		list = append(list, map[string]any{"tx_blob": text(t.blob), "meta": text(t.meta)})
	}
	inner := map[string]any{"closed": true, "ledger_data": text(l.header), "transactions": list}
	hash := sum("LWR\x00", l.header)
	return json.Marshal(map[string]any{"result": map[string]any{
		"ledger": inner, "ledger_hash": text(hash[:]), "ledger_index": index, "status": "success", "validated": true,
	}})
}

func text(b []byte) string { return strings.ToUpper(hex.EncodeToString(b)) }
