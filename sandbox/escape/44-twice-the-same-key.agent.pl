# class: protocol
# tries: send frames that two parsers read differently
# must: refused
# ends: cut
print qq({"type":"control_request","type":"result","request_id":"a","request_id":"b","request":{"subtype":"can_use_tool"}}\n) for 1 .. 1000;
sleep 30;
