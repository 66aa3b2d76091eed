//go:build unix && nats

package cli

import "testing"

func TestQueueBadInput(t *testing.T) { runBadCases(t, readBadCases(t, "embedded")) }
