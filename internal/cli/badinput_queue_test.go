//go:build unix && nats

package cli

import "testing"

func TestQueueBadInput(t *testing.T) { tryBadCases(t, readBadCases(t, "embedded")) }
