//go:build unix && !nats

package cli

func init() { badInputs = append(badInputs, "noqueue") }
