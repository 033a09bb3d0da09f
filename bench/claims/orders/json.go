package main

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// appendV2 writes what encoding/json does, with what becomes encoding/json/v2.
func appendV2(dst []byte, document any) []byte {
	b := bytes.NewBuffer(dst)
	_ = json.MarshalWrite(b, document, jsontext.EscapeForJS(true)) // U+2028 and U+2029, as encoding/json does
	return b.Bytes()
}
