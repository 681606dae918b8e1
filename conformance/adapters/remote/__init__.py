"""Any program in any language as an implementation under test: JSON lines on stdin and stdout."""
