package training

// AttentionShare is attentionShare.
func (s *Spec) AttentionShare(v int) float64 { return s.attentionShare(v) }
