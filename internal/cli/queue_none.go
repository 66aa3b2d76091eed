//go:build !nats

package cli

import "sim/scenarios/queue"

// embedServer starts the server of --queue embedded, which this build has not.
var embedServer queue.Embed
