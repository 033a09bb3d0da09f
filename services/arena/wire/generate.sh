#!/bin/sh
# Generates the Go code of arena.proto: needs protoc, protoc-gen-go v1.36.12 and protoc-gen-go-vtproto v0.6.0 in PATH.
exec protoc --go_out=. --go_opt=paths=source_relative --go-vtproto_out=. --go-vtproto_opt=paths=source_relative,features=marshal+unmarshal+size+pool,pool=dyno/services/arena/wire.ClientFrame,pool=dyno/services/arena/wire.Input,pool=dyno/services/arena/wire.Command arena.proto
