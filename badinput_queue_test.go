//go:build unix && nats

package main

import "testing"

func TestQueueBadInput(t *testing.T) { tryBadCases(t, readBadCases(t, "queue")) }
