import {render, Text} from 'ink';

export const startDashboard = async (): Promise<void> => {
  const {waitUntilExit} = render(<Text>hello</Text>);
  await waitUntilExit();
};
